#include "sim/report/assertions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "sim/config/numbers.hpp"
#include "sim/config/reader.hpp"
#include "sim/report/metric.hpp"

namespace tokenline::report {
namespace {

using Relation = Condition::Comparison;

/// The operators as they are written, those with two characters first.
constexpr std::array<std::pair<std::string_view, Relation>, 6> operators{
    {{"<=", Relation::at_most},
     {">=", Relation::at_least},
     {"==", Relation::equal},
     {"!=", Relation::unequal},
     {"<", Relation::less},
     {">", Relation::greater}}};

/// Where the operator of a condition begins.
std::size_t operator_at(std::string_view text) { return text.find_first_of("<>=!"); }

/// A condition, or why it is none.
struct Parsed {
  Condition condition;
  MetricMistake mistake;
};

Parsed parse(const std::string& text, const std::vector<std::string>& classes,
             const std::vector<std::string>& pools) {
  const std::string_view whole = text;
  Parsed parsed{.condition = {.text = text, .metric = {}}, .mistake = {}};
  const auto at = operator_at(whole);
  const auto sign = std::ranges::find_if(operators, [&](const auto& o) {
    return at != std::string_view::npos && whole.substr(at).starts_with(o.first);
  });
  if (sign == operators.end()) {
    parsed.mistake = {fmt::format("'{}' compares nothing", text),
                      "write `metric < number`, or with <=, >, >=, == or !="};
    return parsed;
  }
  parsed.condition.metric = metric_path(trimmed(whole.substr(0, at)), classes, pools);
  parsed.condition.comparison = sign->second;
  const std::string_view text_of_bound = trimmed(whole.substr(at + sign->first.size()));
  const auto bound = amount_of(text_of_bound, parsed.condition.metric);
  parsed.condition.bound = bound.value_or(0.0);
  if (const auto mistake = metric_mistake(parsed.condition.metric, classes, pools))
    parsed.mistake = *mistake;
  else if (!bound)
    parsed.mistake = {
        fmt::format("'{}' is no amount of {}", text_of_bound, key_of(parsed.condition.metric)),
        "a number in the metric's own unit, or with one: 800 ms, 30/s, 95 %"};
  return parsed;
}

bool holds(double value, Relation comparison, double bound) {
  switch (comparison) {
    case Relation::less:
      return value < bound;
    case Relation::at_most:
      return value <= bound;
    case Relation::greater:
      return value > bound;
    case Relation::at_least:
      return value >= bound;
    case Relation::equal:
      return value == bound;
    case Relation::unequal:
      return value != bound;
  }
  return false;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

std::string metric_path(std::string_view text, std::span<const std::string> classes,
                        std::span<const std::string> pools) {
  std::string_view key = text;
  std::string_view scope = "all";
  if (const auto open = text.find('('); open != std::string_view::npos && text.ends_with(')')) {
    key = trimmed(text.substr(0, open));
    scope = trimmed(text.substr(open + 1, text.size() - open - 2));
  } else if (text.empty() || text.find('.') != std::string_view::npos) {
    return std::string(text);
  }
  const std::string path = fmt::format("{}.{}", scope, key);
  for (const std::string& meant :
       {path, path + "_ms", path + "_s", fmt::format("{}.request_{}", scope, key)})
    if (!metric_mistake(meant, classes, pools)) return meant;
  return path;
}

std::optional<double> amount_of(std::string_view text, std::string_view metric) {
  if (const auto number = config::parse_real(text); number.ok()) return number.value;
  if (metric.ends_with("_ms") || metric.ends_with("_s")) {
    const auto time = config::parse_seconds(text);
    if (!time) return std::nullopt;
    return time->value() * (metric.ends_with("_ms") ? 1e3 : 1.0);
  }
  if (metric.ends_with("_throughput") || metric.ends_with("_goodput")) {
    const auto rate = config::parse_rate(text);
    return rate ? std::optional(rate->value()) : std::nullopt;
  }
  if (!metric.ends_with("_fraction") || !text.ends_with('%')) return std::nullopt;
  const auto percent = config::parse_real(trimmed(text.substr(0, text.size() - 1)));
  return percent.ok() ? std::optional(percent.value / 100.0) : std::nullopt;
}

config::Location condition_place(const Scenario& scenario, std::size_t i) {
  const config::Node* list = scenario.resolved.find("assert");
  if (list == nullptr || i >= list->items.size()) return {scenario.file, 1, 1};
  return list->items[i].where;
}

std::vector<Condition> read_conditions(const Scenario& scenario) {
  std::vector<Condition> conditions;
  std::vector<config::Diagnostic> mistakes;
  const auto classes = class_names(scenario);
  const auto pools = pool_names(scenario);
  for (std::size_t i = 0; i < scenario.asserts.size(); ++i) {
    Parsed parsed = parse(scenario.asserts[i], classes, pools);
    if (!parsed.mistake.message.empty())
      mistakes.push_back({condition_place(scenario, i), fmt::format("assert[{}]", i),
                          std::move(parsed.mistake.message), std::move(parsed.mistake.hint)});
    conditions.push_back(std::move(parsed.condition));
  }
  if (!mistakes.empty()) throw config::ConfigError(std::move(mistakes));
  return conditions;
}

Condition read_condition(const Scenario& scenario, const std::string& text,
                         const std::string& option) {
  Parsed parsed = parse(text, class_names(scenario), pool_names(scenario));
  if (!parsed.mistake.message.empty())
    throw config::ConfigError(config::Diagnostic{
        {option, 1, 1}, {}, std::move(parsed.mistake.message), std::move(parsed.mistake.hint)});
  return std::move(parsed.condition);
}

std::string negated(const Condition& condition) {
  constexpr std::array<std::string_view, 6> opposite{">=", ">", "<=", "<", "!=", "=="};
  const std::string_view text = condition.text;
  const std::string_view bound = text.substr(text.find_first_not_of("<>=! ", operator_at(text)));
  return fmt::format("{} {} {}", condition.metric,
                     opposite.at(static_cast<std::size_t>(condition.comparison)), trimmed(bound));
}

std::vector<AssertResult> check(const std::vector<Condition>& conditions, const Summary& summary) {
  std::vector<AssertResult> results;
  for (const Condition& condition : conditions) {
    const auto value = metric(summary, condition.metric).value;
    results.push_back({.condition = condition.text,
                       .value = value,
                       .passed = value && holds(*value, condition.comparison, condition.bound)});
  }
  return results;
}

}  // namespace tokenline::report
