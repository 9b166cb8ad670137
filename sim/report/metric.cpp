#include "sim/report/metric.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/check.hpp"

namespace tokenline::report {
namespace {

constexpr std::string_view instances = "instances";

Figure over_instances(const Summary& summary, std::string_view key) {
  Figure result{.key = std::string(key), .value = {}, .whole = true};
  const bool peak = key.find("peak") != std::string_view::npos;
  bool mean = false;
  double count = 0.0;
  for (const InstanceSummary& instance : summary.instances) {
    const Figure* figure = instance.figures.find(key);
    if (figure == nullptr) continue;  // Of a prefix cache, where there is none.
    result.whole = figure->whole;
    mean = !figure->whole && !peak && key != "down_s";
    if (!figure->value) continue;
    count += 1.0;
    if (!result.value)
      result.value = figure->value;
    else
      result.value =
          peak ? std::max(*result.value, *figure->value) : *result.value + *figure->value;
  }
  if (mean && result.value) *result.value /= count;
  return result;
}

}  // namespace

std::string_view scope_of(std::string_view path) { return path.substr(0, path.find('.')); }

std::string_view key_of(std::string_view path) {
  const auto point = path.find('.');
  return point == std::string_view::npos ? std::string_view{} : path.substr(point + 1);
}

std::optional<MetricMistake> metric_mistake(std::string_view path,
                                            std::span<const std::string> classes) {
  const std::string_view scope = scope_of(path);
  const std::string_view key = key_of(path);
  std::vector<std::string> scopes{"all", std::string(instances)};
  scopes.insert(scopes.begin() + 1, classes.begin(), classes.end());
  if (key.empty())
    return MetricMistake{fmt::format("'{}' names no metric", path),
                         "write <class>.<metric> or instances.<metric>, as in all.p99_ttft_ms"};
  if (std::ranges::find(scopes, scope) == scopes.end())
    return MetricMistake{fmt::format("no class '{}'", scope), config::suggestion(scope, scopes)};
  const auto keys = scope == instances ? instance_figure_keys() : class_figure_keys();
  if (std::ranges::find(keys, key) == keys.end())
    return MetricMistake{
        fmt::format("no metric '{}' of {}", key, scope == instances ? "instances" : "a class"),
        config::suggestion(key, keys)};
  return std::nullopt;
}

Figure metric(const Summary& summary, std::string_view path) {
  const std::string_view scope = scope_of(path);
  if (scope == instances) return over_instances(summary, key_of(path));
  const ClassSummary* of_class = summary.find_class(scope);
  TOKENLINE_CHECK(of_class != nullptr, "no class '{}'", scope);
  const Figure* figure = of_class->figures.find(key_of(path));
  TOKENLINE_CHECK(figure != nullptr, "no figure '{}' of a class", key_of(path));
  return *figure;
}

std::vector<std::string> class_names(const Scenario& scenario) {
  std::vector<std::string> names;
  for (const auto& request_class : scenario.traffic.classes) names.push_back(request_class.name);
  return names;
}

}  // namespace tokenline::report
