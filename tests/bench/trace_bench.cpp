#include <benchmark/benchmark.h>

#include <cstdint>

#include "workloads/traffic/trace.hpp"

using namespace tokenline;

namespace {

/// Reads and checks an hour of Azure's conversation trace.
void read_azure_trace(benchmark::State& state) {
  const traffic::TraceSelection selection{
      .file = TOKENLINE_SOURCE_DIR "/scenarios/traces/azure_conversation_2023.csv",
      .format = traffic::TraceFormat::azure,
      .only = {}};
  std::int64_t rows = 0;
  for (auto _ : state) {
    config::Document document(config::parse_yaml("bench.yaml", "{}"));
    const traffic::Trace trace = traffic::read_trace(document, selection);
    document.throw_if_errors();
    rows += static_cast<std::int64_t>(trace.arrivals.size());
  }
  state.SetItemsProcessed(rows);
}
BENCHMARK(read_azure_trace)->Unit(benchmark::kMillisecond);

}  // namespace
