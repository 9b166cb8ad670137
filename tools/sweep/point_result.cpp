#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/engine/run.hpp"
#include "sim/report/assertions.hpp"
#include "sim/report/console.hpp"
#include "sim/report/metric.hpp"
#include "sim/report/version.hpp"
#include "tools/sweep/point_digest.hpp"
#include "tools/sweep/sweep.hpp"

namespace tokenline::sweep {
namespace {

using Json = nlohmann::ordered_json;

/// The replicas together.
report::Figures over_replicas(const report::Summary& summary) {
  report::Figures figures;
  for (const report::Figure& one : summary.instances.front().figures.all()) {
    const report::Figure all = report::metric(summary, "instances." + one.key);
    if (all.whole)
      figures.count(all.key, static_cast<std::int64_t>(*all.value));
    else
      figures.amount(all.key, all.value);
  }
  return figures;
}

std::vector<ScopeFigures> figures_of(const report::Summary& summary) {
  std::vector<ScopeFigures> all;
  for (const report::ClassSummary& c : summary.classes) all.push_back({c.name, c.figures});
  all.push_back({"instances", over_replicas(summary)});
  for (const report::PoolSummary& pool : summary.pools)
    all.push_back({"pools." + pool.name, pool.figures});
  if (summary.transfers) all.push_back({"transfers", *summary.transfers});
  if (summary.fleet) all.push_back({"fleet", summary.fleet_figures});
  return all;
}

Json figures_json(const report::Figures& figures) {
  Json object = Json::object();
  for (const report::Figure& figure : figures.all())
    if (!figure.value)
      object[figure.key] = nullptr;
    else if (figure.whole)
      object[figure.key] = static_cast<std::int64_t>(*figure.value);
    else
      object[figure.key] = *figure.value;
  return object;
}

/// Whole numbers are counts, as figures_json() writes them.
report::Figures figures_from(const Json& object) {
  report::Figures figures;
  for (const auto& [key, value] : object.items())
    if (value.is_null())
      figures.amount(key, std::nullopt);
    else if (value.is_number_integer())
      figures.count(key, value.get<std::int64_t>());
    else
      figures.amount(key, value.get<double>());
  return figures;
}

}  // namespace

PointResult run_point(const Point& point, const std::stop_token& stop) {
  Scenario scenario = load_scenario(point.base, {.overrides = point.overrides});
  const auto conditions = report::read_conditions(scenario);
  // What was measured was measured of the base.
  scenario.observed.reset();
  FileDigests files;
  PointResult result;
  result.sha256 = point_digest(scenario, files);
  const RunResult ran = run(scenario, {}, nullptr, stop);
  const report::Summary summary = report::summarize(scenario, ran);
  TOKENLINE_CHECK(summary.audit.passed, "{}", report::audit_verdict(summary.audit));
  result.scenario = summary.scenario;
  result.seed = summary.seed;
  result.config_sha256 = summary.config_sha256;
  result.simulated_s = summary.simulated_s;
  for (const report::AssertResult& verdict : report::check(conditions, summary))
    result.asserts.emplace_back(verdict.condition, verdict.passed);
  result.figures = figures_of(summary);
  return result;
}

std::string result_json(const PointResult& result) {
  Json root{{"tokenline", report::version()},        {"point_sha256", result.sha256},
            {"scenario", result.scenario},           {"seed", result.seed},
            {"config_sha256", result.config_sha256}, {"simulated_s", result.simulated_s}};
  root["asserts"] = Json::array();
  for (const auto& [condition, passed] : result.asserts)
    root["asserts"].push_back({{"condition", condition}, {"passed", passed}});
  root["metrics"] = Json::object();
  for (const ScopeFigures& scope : result.figures)
    root["metrics"][scope.scope] = figures_json(scope.figures);
  return root.dump(2) + '\n';
}

std::optional<PointResult> parse_result(std::string_view json) try {
  const Json root = Json::parse(json);
  if (root.at("tokenline") != report::version()) return std::nullopt;
  PointResult result{.sha256 = root.at("point_sha256"),
                     .scenario = root.at("scenario"),
                     .seed = root.at("seed"),
                     .config_sha256 = root.at("config_sha256"),
                     .simulated_s = root.at("simulated_s"),
                     .asserts = {},
                     .figures = {}};
  for (const Json& verdict : root.at("asserts"))
    result.asserts.emplace_back(verdict.at("condition"), verdict.at("passed"));
  for (const auto& [scope, figures] : root.at("metrics").items())
    result.figures.push_back({scope, figures_from(figures)});
  return result;
} catch (const Json::exception&) {
  return std::nullopt;
}

}  // namespace tokenline::sweep
