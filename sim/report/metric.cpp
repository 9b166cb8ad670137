#include "sim/report/metric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/check.hpp"
#include "sim/report/pool_summary.hpp"

namespace tokenline::report {
namespace {

constexpr std::string_view instances = "instances";
constexpr std::string_view fleet = "fleet";
constexpr std::string_view pools_scope = "pools";
constexpr std::string_view transfers = "transfers";

/// The figure of a pool's path "prefill.busy_fraction".
Figure of_pool(const Summary& summary, std::string_view path) {
  const auto pool = std::ranges::find(summary.pools, scope_of(path), &PoolSummary::name);
  TOKENLINE_CHECK(pool != summary.pools.end(), "no pool '{}'", scope_of(path));
  const Figure* figure = pool->figures.find(key_of(path));
  TOKENLINE_CHECK(figure != nullptr, "no figure '{}' of a pool", key_of(path));
  return *figure;
}

std::vector<std::string> pool_keys() {
  std::vector<std::string> keys = instance_figure_keys();
  keys.emplace_back("replicas");
  return keys;
}

std::optional<MetricMistake> key_mistake(std::string_view key, const std::vector<std::string>& keys,
                                         std::string_view whose) {
  if (std::ranges::find(keys, key) != keys.end()) return std::nullopt;
  return MetricMistake{fmt::format("no metric '{}' of {}", key, whose),
                       config::suggestion(key, keys)};
}

}  // namespace

std::string_view scope_of(std::string_view path) { return path.substr(0, path.find('.')); }

std::string_view key_of(std::string_view path) {
  const auto point = path.find('.');
  return point == std::string_view::npos ? std::string_view{} : path.substr(point + 1);
}

std::optional<MetricMistake> metric_mistake(std::string_view path,
                                            std::span<const std::string> classes,
                                            std::span<const std::string> pools) {
  const std::string_view scope = scope_of(path);
  const std::string_view key = key_of(path);
  std::vector<std::string> scopes{"all", std::string(instances), std::string(fleet)};
  scopes.insert(scopes.begin() + 1, classes.begin(), classes.end());
  if (!pools.empty())
    scopes.insert(scopes.end(), {std::string(pools_scope), std::string(transfers)});
  if (key.empty())
    return MetricMistake{fmt::format("'{}' names no metric", path),
                         "write <class>.<metric> or instances.<metric>, as in all.p99_ttft_ms"};
  if (std::ranges::find(scopes, scope) == scopes.end())
    return MetricMistake{fmt::format("no class '{}'", scope), config::suggestion(scope, scopes)};
  if (scope == instances) return key_mistake(key, instance_figure_keys(), "instances");
  if (scope == fleet) return key_mistake(key, fleet_figure_keys(), "the fleet");
  if (pools.empty() || std::ranges::find(classes, scope) != classes.end())
    return key_mistake(key, class_figure_keys(), "a class");
  if (scope == transfers) return key_mistake(key, transfer_figure_keys(), "transfers");
  if (scope != pools_scope) return key_mistake(key, class_figure_keys(), "a class");
  const std::string_view pool = scope_of(key);
  if (std::ranges::find(pools, pool) == pools.end())
    return MetricMistake{fmt::format("no pool '{}'", pool), config::suggestion(pool, pools)};
  return key_mistake(key_of(key), pool_keys(), "a pool");
}

bool has_scope(const Summary& summary, std::string_view path) {
  const std::string_view scope = scope_of(path);
  if (scope == instances || scope == fleet || summary.find_class(scope) != nullptr) return true;
  if (scope == transfers) return summary.transfers.has_value();
  return scope == pools_scope && std::ranges::find(summary.pools, scope_of(key_of(path)),
                                                   &PoolSummary::name) != summary.pools.end();
}

Figure metric(const Summary& summary, std::string_view path) {
  const std::string_view scope = scope_of(path);
  if (scope == fleet) {
    const Figure* figure = summary.fleet_figures.find(key_of(path));
    return figure == nullptr ? Figure{.key = std::string(key_of(path)), .value = {}} : *figure;
  }
  if (scope == instances) {
    std::vector<const InstanceSummary*> all;
    for (const InstanceSummary& instance : summary.instances) all.push_back(&instance);
    return over_instances(all, key_of(path));
  }
  const ClassSummary* of_class = summary.find_class(scope);
  if (of_class == nullptr && scope == pools_scope) return of_pool(summary, key_of(path));
  if (of_class == nullptr && scope == transfers) {
    if (!summary.transfers) return {.key = std::string(key_of(path)), .value = {}, .whole = false};
    const Figure* figure = summary.transfers->find(key_of(path));
    TOKENLINE_CHECK(figure != nullptr, "no figure '{}' of transfers", key_of(path));
    return *figure;
  }
  TOKENLINE_CHECK(of_class != nullptr, "no class '{}'", scope);
  const Figure* figure = of_class->figures.find(key_of(path));
  TOKENLINE_CHECK(figure != nullptr, "no figure '{}' of a class", key_of(path));
  return *figure;
}

int good_side(std::string_view metric) {
  constexpr std::array<std::string_view, 3> endings{"_throughput", "_goodput", "goodput_fraction"};
  constexpr std::array<std::string_view, 11> costs{
      "failed",  "lost_oom",          "lost_crash", "rejected", "timed_out", "preemptions",
      "retries", "recomputed_tokens", "restarts",   "down_s",   "gpu_hours"};
  const std::string_view key = metric.substr(metric.rfind('.') + 1);
  if (key == "completed" ||
      std::ranges::any_of(endings, [&](std::string_view e) { return key.ends_with(e); }))
    return 1;
  return key.ends_with("_ms") || std::ranges::find(costs, key) != costs.end() ? -1 : 0;
}

std::vector<std::string> class_names(const Scenario& scenario) {
  std::vector<std::string> names;
  for (const auto& request_class : scenario.traffic.classes) names.push_back(request_class.name);
  return names;
}

std::vector<std::string> pool_names(const Scenario& scenario) {
  std::vector<std::string> names;
  for (const Pool& pool : scenario.pools) names.push_back(pool.name);
  return names;
}

}  // namespace tokenline::report
