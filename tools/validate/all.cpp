#include "tools/validate/all.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "hwmodels/gpu.hpp"
#include "sim/config/reader.hpp"
#include "sim/report/text_table.hpp"
#include "tools/validate/attention.hpp"
#include "tools/validate/ceilings.hpp"
#include "tools/validate/errors.hpp"
#include "tools/validate/operators.hpp"
#include "tools/validate/output.hpp"
#include "tools/validate/requests.hpp"
#include "tools/validate/silicon.hpp"
#include "tools/validate/throughput.hpp"

namespace tokenline::validate {
namespace {

namespace fs = std::filesystem;

/// The folders below `folder`, sorted; a missing one is a mistake.
std::vector<fs::path> folders_in(const fs::path& folder) {
  if (!fs::is_directory(folder))
    throw config::ConfigError({{folder.string(), 1, 1}, "", "no such folder", ""});
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory()) found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

std::string percent_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.2f}", *value) : "-";
}

/// One metric of a check, and what may be said against it.
struct Judged {
  Errors errors;
  const Ceiling* ceiling = nullptr;

  [[nodiscard]] std::optional<double> mean_ape_pct() const {
    if (!errors.mean_ape) return std::nullopt;
    return *errors.mean_ape * 100.0;
  }
  [[nodiscard]] std::string complaint() const {
    if (ceiling == nullptr) return "has no ceiling: give it one";
    const auto mean = mean_ape_pct();
    if (ceiling->mean_ape_pct && !mean) return "predicts nothing any more";
    if (!ceiling->mean_ape_pct && mean)
      return fmt::format("predicts now: give it the ceiling {:.2f} %", *mean);
    if (mean && *mean > *ceiling->mean_ape_pct)
      return fmt::format("mean error {:.2f} % exceeds {:.2f} %", *mean, *ceiling->mean_ape_pct);
    if (errors.refused > ceiling->refused)
      return fmt::format("{} rows are refused, {} were allowed", errors.refused, ceiling->refused);
    return "";
  }
};

}  // namespace

std::vector<Check> compare_all(const std::string& folder, std::size_t threads) {
  const fs::path e2e = fs::path(folder) / "e2e";
  const auto file = [&](const char* name) { return (e2e / name).string(); };
  std::vector<Check> checks;
  for (const std::string& gpu : hw::gpu_names())
    if (const fs::path tables = fs::path(folder) / gpu; fs::is_directory(tables))
      checks.push_back({"operators." + gpu, compare_operators(tables.string(), gpu)});
  for (const std::string engine : {"vllm", "trtllm", "sglang"})
    checks.push_back(
        {"silicon." + engine,
         compare_silicon(file("silicon_colocated.csv"),
                         {.where = {{"engine", engine}}, .protocol = "", .threads = threads})});
  checks.push_back(
      {"silicon.b200", compare_silicon(file("silicon_b200.csv"),
                                       {.where = {}, .protocol = "", .threads = threads})});
  for (const fs::path& run : folders_in(e2e / "vllm_runs"))
    checks.push_back(
        {"requests." + run.filename().string(), compare_requests(run.string(), std::nullopt)});
  checks.push_back({"requests.distserve",
                    compare_requests(file("distserve_opt13b_a100_requests.csv"), std::nullopt)});
  checks.push_back(
      {"requests.distserve_disaggregated",
       compare_requests(file("distserve_opt13b_a100_disaggregated.csv"), std::nullopt)});
  checks.push_back(
      {"throughput", compare_throughput(file("trtllm_docs_max_throughput.csv"), threads)});
  checks.push_back({"attention", compare_attention(file("flash_attention_tflops.csv"))});
  return checks;
}

std::vector<Ceiling> parse_ceilings(const std::string& file, const std::string& text) {
  config::Document document(config::parse_yaml(file, text));
  config::Reader root(document);
  std::vector<Ceiling> ceilings;
  auto checks = root.named_sections({"ceilings", "What each check may not exceed."});
  for (auto& [check, metrics] : checks) {
    auto named = metrics.named_sections({"metrics", "By metric."});
    for (auto& [metric, entry] : named) {
      Ceiling ceiling{.check = check, .metric = metric, .mean_ape_pct = {}, .refused = 0};
      ceiling.mean_ape_pct =
          entry.optional_real({"mean_ape_pct", "Largest mean error."}, {0.0, 1e6});
      ceiling.refused = entry.integer({"refused", "Most rows refused."}, {0, 1'000'000'000});
      entry.finish();
      ceilings.push_back(ceiling);
    }
    metrics.finish();
  }
  root.finish();
  document.throw_if_errors();
  return ceilings;
}

std::vector<Ceiling> shipped_ceilings() {
  const embedded::File& file = embedded::files().front();
  return parse_ceilings("<ceilings.yaml>", std::string(file.text));
}

Verdict judge(const std::vector<Check>& checks, const std::vector<Ceiling>& ceilings) {
  Verdict verdict;
  std::string complaints;
  std::string lines;
  const auto complain = [&](const std::string& check, const std::string& metric,
                            const std::string& what) {
    verdict.passed = false;
    complaints += fmt::format("{} {}: {}\n", check, metric, what);
  };
  std::vector<bool> met(ceilings.size(), false);
  report::TextTable table(2);
  table.row({"check", "metric", "rows", "refused", "allowed", "mean %", "ceiling %"});
  for (const auto& [name, comparison] : checks) {
    for (const std::string& metric : metrics_of(comparison.rows)) {
      Judged judged{.errors = errors_of(comparison.rows, metric), .ceiling = nullptr};
      for (std::size_t i = 0; i < ceilings.size(); ++i)
        if (ceilings[i].check == name && ceilings[i].metric == metric) {
          judged.ceiling = &ceilings[i];
          met[i] = true;
        }
      const Ceiling* ceiling = judged.ceiling;
      table.row({name, metric, fmt::format("{}", judged.errors.rows),
                 fmt::format("{}", judged.errors.refused),
                 ceiling == nullptr ? "-" : fmt::format("{}", ceiling->refused),
                 percent_text(judged.mean_ape_pct()),
                 percent_text(ceiling == nullptr ? std::nullopt : ceiling->mean_ape_pct)});
      if (const std::string what = judged.complaint(); !what.empty()) complain(name, metric, what);
    }
    lines += overall_lines(comparison, name);
  }
  for (std::size_t i = 0; i < ceilings.size(); ++i)
    if (!met[i]) complain(ceilings[i].check, ceilings[i].metric, "has a ceiling and no row");
  verdict.text = table.text() + (complaints.empty() ? "" : "\n" + complaints) + "\n" + lines;
  return verdict;
}

}  // namespace tokenline::validate
