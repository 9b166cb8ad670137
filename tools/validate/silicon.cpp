#include "tools/validate/silicon.hpp"

#include <fmt/format.h>

#include <set>

#include "hwmodels/gpu.hpp"
#include "sim/report/parallel.hpp"
#include "tools/validate/columns.hpp"
#include "tools/validate/deployment.hpp"
#include "tools/validate/engine_version.hpp"
#include "tools/validate/protocol.hpp"
#include "tools/validate/recipe.hpp"

namespace tokenline::validate {
namespace {

using config::Table;
using config::TableRow;

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
  std::string refused;  ///< Why it cannot be simulated; empty where it can.
};

Measurement read_measurement(const TableRow& row) {
  Measurement m;
  m.line = row.line();
  m.engine = name_in(row, "engine");
  if (m.engine.empty()) row.error("engine", "nothing is given");
  const std::string version = row.text("engine_version");
  m.refused = version_mistake(m.engine, version);
  m.server = {.model = row.word("model"),
              .gpu = row.word("gpu"),
              .preset = m.refused.empty() ? preset_of_engine(m.engine, version) : "",
              .tensor_parallel = row.integer("tp", gpu_counts),
              .pipeline_parallel = row.integer("pp", gpu_counts),
              .attention_data_parallel = row.integer("attention_dp", stated_gpu_counts),
              .expert_parallel = row.integer("moe_ep", stated_gpu_counts),
              .weights = name_in(row, "gemm_dtype"),
              .engine_keys = {}};
  m.moe_tensor_parallel = row.integer("moe_tp", stated_gpu_counts);
  m.isl = row.integer("isl", token_counts);
  m.osl = row.integer("osl", token_counts);
  m.concurrency = row.integer("concurrency", client_counts);
  m.ttft_ms = row.real("ttft_ms_mean", milliseconds);
  m.tpot_ms = row.real("tpot_ms_mean", milliseconds);
  const ClosedLoop load{m.isl, m.osl, m.concurrency};
  m.server.engine_keys.push_back(fmt::format("max_model_len: {}", load.max_model_len()));
  if (runs_in_inferencex(m.server.model, m.isl, m.osl))
    apply_inferencex_recipe(m.server, m.engine, load);
  else
    apply_aiconfigurator_recipe(m.server, m.engine, version, load);
  return m;
}

/// What a value of a column stands for: a model's preset and a GPU's name in the catalog, each as
/// far as it is built in.
std::string meaning(const std::string& column, const std::string& value) {
  if (column == "model") return preset_of_model(value).value_or(value);
  if (column == "gpu") return hw::catalog_name(value).value_or(value);
  return value;
}

/// The rows that have the values asked for; a value that no row has is a mistake.
std::vector<const TableRow*> selected(const Table& table, const SiliconOptions& options) {
  std::vector<const TableRow*> rows;
  for (const TableRow& row : table.rows()) rows.push_back(&row);
  for (const auto& [column, value] : options.where) {
    std::set<std::string> there;
    for (const TableRow* row : rows) there.insert(row->text(column));
    std::erase_if(rows, [&](const TableRow* row) {
      return meaning(column, row->text(column)) != meaning(column, value);
    });
    const std::vector<std::string> known(there.begin(), there.end());
    if (rows.empty())
      throw config::ConfigError({{table.file(), 1, 1},
                                 column,
                                 fmt::format("no row is left to compare with {}={}", column, value),
                                 config::suggestion(value, known)});
  }
  return rows;
}

std::string label(const Measurement& m) {
  return fmt::format("line {}: tp {} dp {} ep {} isl {} osl {} concurrency {}", m.line,
                     m.server.tensor_parallel, m.server.attention_data_parallel,
                     m.server.expert_parallel, m.isl, m.osl, m.concurrency);
}

/// What the two rows of a measurement say.
struct SiliconResult {
  Latency latency;
  std::string refused;
};

constexpr const char* none_completes = "no request completes in the simulation";

SiliconResult simulate(const Measurement& m, const Protocol& protocol) {
  if (!m.refused.empty()) return {{}, m.refused};
  // Zeros are what the source does not state.
  const std::int64_t experts = m.moe_tensor_parallel * m.server.expert_parallel;
  const std::int64_t gpus = m.server.tensor_parallel * m.server.attention_data_parallel;
  if (experts > 1 && gpus > 0 && experts != gpus)
    return {{}, "moe_tp x moe_ep differs from tp x attention_dp"};
  Built built = build(m.server, closed_loop(protocol, m.concurrency, m.isl, m.osl));
  if (!built.scenario) return {{}, built.refused};
  const RunResult run = run_audited(*built.scenario);
  const Latency latency = mean_latency(run, m.concurrency * protocol.skipped_per_client);
  return {latency, latency.requests == 0 ? none_completes : ""};
}

/// Mean TTFT and TPOT, measured and predicted.
void add_rows(Comparison& comparison, const Measurement& m, const SiliconResult& result) {
  const auto add = [&](const char* metric, double measured, double predicted,
                       const std::string& refused) {
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
  const auto& [latency, refused] = result;
  add("ttft_mean", m.ttft_ms, latency.ttft_ms, refused);
  const bool undefined = refused.empty() && latency.decoding == 0;
  add("tpot_mean", m.tpot_ms, latency.tpot_ms,
      undefined ? "an answer of one token has no time between tokens" : refused);
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
  std::vector<Measurement> every;
  for (const TableRow& row : table.rows()) every.push_back(read_measurement(row));
  table.finish();
  std::vector<Measurement> all;
  for (const TableRow* row : selected(table, options))
    all.push_back(std::move(every[static_cast<std::size_t>(row - table.rows().data())]));
  std::vector<SiliconResult> results(all.size());
  report::for_each_index(all.size(), options.threads, [&](std::size_t i) {
    results[i] = simulate(all[i], options.protocol.empty()
                                      ? protocol_of(all[i].server.model, all[i].isl, all[i].osl)
                                      : protocol_named(options.protocol));
  });
  Comparison comparison{.title = "Closed-loop serving runs: " + file, .rows = {}, .figures = {}};
  for (std::size_t i = 0; i < all.size(); ++i) add_rows(comparison, all[i], results[i]);
  return comparison;
}

}  // namespace tokenline::validate
