#include "tools/validate/silicon.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "hwmodels/gpu.hpp"
#include "sim/report/parallel.hpp"
#include "tools/validate/deployment.hpp"
#include "tools/validate/protocol.hpp"
#include "tools/validate/recipe.hpp"
#include "tools/validate/table.hpp"

namespace tokenline::validate {
namespace {

/// One line of the file.
struct Measurement {
  int line = 0;
  Deployment server;
  std::string engine;
  std::int64_t moe_tensor_parallel = 1;
  std::int64_t isl = 1;
  std::int64_t osl = 1;
  std::int64_t concurrency = 1;
  double ttft_ms = 0.0;
  double tpot_ms = 0.0;
};

Measurement read(const TableRow& row) {
  Measurement m;
  m.line = row.line();
  m.engine = row.word("engine");
  m.server = {.model = row.word("model"),
              .gpu = row.word("gpu"),
              .preset = preset_of_engine(m.engine, row.text("engine_version")),
              .tensor_parallel = row.integer("tp"),
              .pipeline_parallel = row.integer("pp"),
              .attention_data_parallel = row.integer("attention_dp", 0),
              .expert_parallel = row.integer("moe_ep", 0),
              .weights = row.text("gemm_dtype"),
              .engine_keys = {}};
  m.moe_tensor_parallel = row.integer("moe_tp", 0);
  m.isl = row.integer("isl");
  m.osl = row.integer("osl");
  m.concurrency = row.integer("concurrency");
  m.ttft_ms = row.positive("ttft_ms_mean");
  m.tpot_ms = row.positive("tpot_ms_mean");
  const ClosedLoop load{m.isl, m.osl, m.concurrency};
  m.server.engine_keys.push_back(fmt::format("max_model_len: {}", load.max_model_len()));
  if (runs_in_inferencex(m.server.model, m.isl, m.osl))
    apply_inferencex_recipe(m.server, m.engine, load);
  else
    apply_aiconfigurator_recipe(m.server, m.engine, row.text("engine_version"), load);
  return m;
}

bool matches(const TableRow& row, const std::pair<std::string, std::string>& condition) {
  const auto& [column, value] = condition;
  const std::string text = row.text(column);
  if (text == value) return true;
  if (column == "model") return preset_of_model(text) == value;
  return column == "gpu" && hw::catalog_name(text) == value;
}

std::string label(const Measurement& m) {
  return fmt::format("line {}: tp {} dp {} ep {} isl {} osl {} concurrency {}", m.line,
                     m.server.tensor_parallel, m.server.attention_data_parallel,
                     m.server.expert_parallel, m.isl, m.osl, m.concurrency);
}

/// What the two rows of a measurement say.
struct Result {
  Latency latency;
  std::string refused;
};

Result simulate(const Measurement& m, const Protocol& protocol) {
  // Zeros are what the source does not state.
  const std::int64_t experts = m.moe_tensor_parallel * m.server.expert_parallel;
  const std::int64_t gpus = m.server.tensor_parallel * m.server.attention_data_parallel;
  if (experts > 1 && gpus > 0 && experts != gpus)
    return {{}, "moe_tp x moe_ep differs from tp x attention_dp"};
  Built built = build(m.server, closed_loop(protocol, m.concurrency, m.isl, m.osl));
  if (!built.scenario) return {{}, built.refused};
  const RunResult run = run_audited(*built.scenario);
  return {mean_latency(run, m.concurrency * protocol.skipped_per_client), ""};
}

}  // namespace

const std::vector<std::string_view>& silicon_columns() {
  static const std::vector<std::string_view> columns{
      "model", "gpu", "engine",       "engine_version", "gemm_dtype",
      "tp",    "pp",  "attention_dp", "moe_tp",         "moe_ep",
      "isl",   "osl", "concurrency",  "ttft_ms_mean",   "tpot_ms_mean"};
  return columns;
}

Comparison compare_silicon(const std::string& file, const SiliconOptions& options) {
  Table table(file, silicon_columns());
  std::vector<Measurement> all;
  for (const TableRow& row : table.rows()) {
    Measurement m = read(row);
    const auto wanted = [&](const auto& condition) { return matches(row, condition); };
    if (std::ranges::all_of(options.where, wanted)) all.push_back(std::move(m));
  }
  table.finish();
  std::vector<Result> results(all.size());
  report::for_each_index(all.size(), options.threads, [&](std::size_t i) {
    results[i] = simulate(all[i], options.protocol.empty()
                                      ? protocol_of(all[i].server.model, all[i].isl, all[i].osl)
                                      : protocol_named(options.protocol));
  });
  Comparison comparison{.title = "Closed-loop serving runs: " + file, .rows = {}, .figures = {}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Measurement& m = all[i];
    const auto& [latency, refused] = results[i];
    const auto add = [&](const char* metric, double measured, double predicted) {
      Row row{.group = fmt::format("{} {} {} {}", m.server.gpu, m.engine, m.server.model,
                                   m.server.weights.empty() ? "bfloat16" : m.server.weights),
              .metric = metric,
              .unit = "ms",
              .label = label(m),
              .measured = measured,
              .predicted = {},
              .refused = refused};
      if (refused.empty()) row.predicted = predicted;
      comparison.rows.push_back(std::move(row));
    };
    add("ttft_mean", m.ttft_ms, latency.ttft_ms);
    add("tpot_mean", m.tpot_ms, latency.tpot_ms);
  }
  return comparison;
}

}  // namespace tokenline::validate
