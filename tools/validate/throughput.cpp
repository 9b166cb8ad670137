#include "tools/validate/throughput.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "sim/report/parallel.hpp"
#include "tools/validate/columns.hpp"
#include "tools/validate/deployment.hpp"
#include "tools/validate/engine_version.hpp"

namespace tokenline::validate {
namespace {

struct Workload {
  std::int64_t prompt_tokens;
  std::int64_t output_tokens;
  std::int64_t requests;
};

constexpr std::array workloads{Workload{128, 128, 30'000}, Workload{128, 2048, 3000},
                               Workload{128, 4096, 1500},  Workload{500, 2000, 3000},
                               Workload{1000, 1000, 3000}, Workload{1000, 2000, 1500},
                               Workload{2048, 128, 3000},  Workload{2048, 2048, 1500},
                               Workload{5000, 500, 1500},  Workload{20'000, 2000, 1000}};

struct ThroughputRow {
  int line = 0;
  Deployment server;
  std::string dtype;
  std::string hardware;
  std::string version;
  std::int64_t isl = 1;
  std::int64_t osl = 1;
  double tokens_per_second = 0.0;
};

ThroughputRow read_throughput(const config::TableRow& row) {
  ThroughputRow m;
  m.line = row.line();
  m.version = row.text("trtllm_version");
  m.hardware = row.word("hardware");
  m.dtype = name_in(row, "dtype");
  if (m.dtype.empty()) row.error("dtype", "nothing is given");
  m.isl = row.integer("isl", token_counts);
  m.osl = row.integer("osl", token_counts);
  m.tokens_per_second = row.real("output_tok_per_s_total", rates);
  m.server = {.model = row.word("model"),
              .gpu = m.hardware,
              .preset = "trtllm",
              .tensor_parallel = row.integer("tp", gpu_counts),
              .pipeline_parallel = row.integer("pp", gpu_counts),
              .weights = m.dtype == "fp16" || m.dtype == "bf16" ? "" : m.dtype,
              .engine_keys = {fmt::format("max_model_len: {}", m.isl + m.osl)}};
  // Before 1.0 the tables are of engines that TensorRT compiled, which no Python launches.
  const auto version = parse_version(m.version);
  if (version && version->major == 0) {
    m.server.engine_keys.emplace_back("host_launch_per_layer: 0 s");
    m.server.engine_keys.emplace_back("activation_quantization: fused");
  }
  return m;
}

struct ThroughputResult {
  double tokens_per_second = 0.0;
  std::string refused;
};

/// The version decides what launches kernels.
std::string version_of(const ThroughputRow& m) {
  if (m.version.empty()) return "trtllm_version is not stated";
  return version_mistake("trtllm", m.version);
}

ThroughputResult simulate(const ThroughputRow& m) {
  if (std::string mistake = version_of(m); !mistake.empty()) return {0.0, std::move(mistake)};
  const std::int64_t requests = queued_requests(m.isl, m.osl);
  Built built =
      build(m.server,
            fmt::format("  queued:\n    arrival: {{process: closed_loop, max_concurrency: {}}}\n"
                        "    num_prompts: {}\n    prompt_tokens: {}\n    output_tokens: {}\n",
                        requests, requests, m.isl, m.osl));
  if (!built.scenario) return {0.0, built.refused};
  const RunResult run = run_audited(*built.scenario);
  double tokens = 0.0;
  for (const RequestRecord& request : run.log.records)
    if (request.outcome == Outcome::completed) tokens += static_cast<double>(request.output_tokens);
  if (tokens == 0.0) return {0.0, "no request completes in the simulation"};
  return {tokens / to_seconds(run.end.time_since_epoch()).value(), ""};
}

}  // namespace

std::int64_t queued_requests(std::int64_t prompt_tokens, std::int64_t output_tokens) {
  const auto distance = [&](const Workload& w) {
    const bool same = w.prompt_tokens == prompt_tokens && w.output_tokens == output_tokens;
    return same ? -1 : std::abs(w.prompt_tokens + w.output_tokens - prompt_tokens - output_tokens);
  };
  return std::ranges::min_element(workloads, {}, distance)->requests;
}

Comparison compare_throughput(const std::string& file, std::size_t threads) {
  config::Table table(file, {"trtllm_version", "model", "hardware", "tp", "pp", "dtype", "isl",
                             "osl", "output_tok_per_s_total"});
  std::vector<ThroughputRow> all;
  for (const config::TableRow& row : table.rows()) all.push_back(read_throughput(row));
  table.finish();
  std::vector<ThroughputResult> results(all.size());
  report::for_each_index(all.size(), threads,
                         [&](std::size_t i) { results[i] = simulate(all[i]); });
  Comparison comparison{.title = "Maximum throughput: " + file, .rows = {}, .figures = {}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const ThroughputRow& m = all[i];
    Row row{
        .group = fmt::format("{} trtllm {} {} {}", m.hardware, m.version, m.server.model, m.dtype),
        .metric = "output_throughput",
        .unit = "tok/s",
        .label = fmt::format("line {}: tp {} isl {} osl {}", m.line, m.server.tensor_parallel,
                             m.isl, m.osl),
        .measured = m.tokens_per_second,
        .predicted = {},
        .refused = results[i].refused};
    if (row.refused.empty()) row.predicted = results[i].tokens_per_second;
    comparison.rows.push_back(std::move(row));
  }
  return comparison;
}

}  // namespace tokenline::validate
