#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "sim/engine/run.hpp"

using namespace tokenline;

namespace {

/// One replica kept at a constant batch by a closed loop of as many clients.
Scenario saturated(const char* scheduler, std::int64_t batch) {
  return parse_scenario("bench.yaml", fmt::format(R"(scenario: bench
model: llama-3.1-8b
cluster: {{gpu: h100_sxm}}
engine: {{max_model_len: 1024, max_num_seqs: {1}, max_num_batched_tokens: 2048, scheduler: {0}}}
traffic:
  chat:
    arrival: {{process: closed_loop, max_concurrency: {1}}}
    num_prompts: {2}
    prompt_tokens: 200
    output_tokens: {{distribution: uniform, min: 50, max: 350}}
)",
                                                  scheduler, batch, 100 * batch));
}

/// Simulates a scenario again and again, without the time it takes to read; counts its steps and
/// its requests per second of wall time.
template <class Load>
void simulate(benchmark::State& state, Load load) {
  std::int64_t steps = 0;
  std::int64_t requests = 0;
  for (auto _ : state) {
    state.PauseTiming();
    Scenario scenario = load();
    state.ResumeTiming();
    const RunResult result = run(scenario);
    state.PauseTiming();
    for (const InstanceResult& instance : result.instances) steps += instance.whole.steps;
    requests += static_cast<std::int64_t>(result.log.records.size());
    state.ResumeTiming();
  }
  const auto rate = [](std::int64_t count) {
    return benchmark::Counter(static_cast<double>(count), benchmark::Counter::kIsRate);
  };
  state.counters["steps"] = rate(steps);
  state.counters["requests"] = rate(requests);
}

/// `range` sequences run at a time.
void steps(benchmark::State& state, const char* scheduler) {
  simulate(state, [&] { return saturated(scheduler, state.range(0)); });
}
BENCHMARK_CAPTURE(steps, chunked, "chunked")
    ->Arg(8)
    ->Arg(64)
    ->Arg(512)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(steps, prefill_first, "prefill_first")
    ->Arg(8)
    ->Arg(64)
    ->Arg(512)
    ->Unit(benchmark::kMillisecond);

/// The scenario of a million requests, with the first 100,000 of them.
void hundred_thousand_requests(benchmark::State& state) {
  simulate(state, [] {
    return load_scenario(TOKENLINE_SOURCE_DIR "/scenarios/bench/million_requests.yaml",
                         {{"traffic.short.num_prompts=100000"}});
  });
}
BENCHMARK(hundred_thousand_requests)->Unit(benchmark::kMillisecond);

/// Reading a scenario, its tables of prices included.
void load(benchmark::State& state) {
  for (auto _ : state)
    benchmark::DoNotOptimize(
        load_scenario(TOKENLINE_SOURCE_DIR "/scenarios/p99_incident/incident.yaml"));
}
BENCHMARK(load)->Unit(benchmark::kMillisecond);

}  // namespace
