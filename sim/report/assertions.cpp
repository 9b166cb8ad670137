#include "sim/report/assertions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/config/numbers.hpp"
#include "sim/report/metric.hpp"

namespace tokenline::report {
namespace {

using Comparison = Condition::Comparison;

/// The operators as they are written, those with two characters first.
constexpr std::array<std::pair<std::string_view, Comparison>, 4> operators{
    {{"<=", Comparison::at_most},
     {">=", Comparison::at_least},
     {"<", Comparison::less},
     {">", Comparison::greater}}};

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

/// A condition, or why it is none.
struct Parsed {
  Condition condition;
  MetricMistake mistake;
};

Parsed parse(const std::string& text, const std::vector<std::string>& classes,
             const std::vector<std::string>& pools) {
  const std::string_view whole = text;
  Parsed parsed{.condition = {.text = text, .metric = {}}, .mistake = {}};
  const auto at = whole.find_first_of("<>");
  if (at == std::string_view::npos) {
    parsed.mistake = {fmt::format("'{}' compares nothing", text),
                      "write `metric < number`, or with <=, > or >="};
    return parsed;
  }
  const auto sign = *std::ranges::find_if(
      operators, [&](const auto& o) { return whole.substr(at).starts_with(o.first); });
  parsed.condition.metric = trimmed(whole.substr(0, at));
  parsed.condition.comparison = sign.second;
  const std::string_view bound = trimmed(whole.substr(at + sign.first.size()));
  const auto number = config::parse_real(bound);
  parsed.condition.bound = number.value;
  if (const auto mistake = metric_mistake(parsed.condition.metric, classes, pools))
    parsed.mistake = *mistake;
  else if (!number.ok())
    parsed.mistake = {fmt::format("'{}' is not a number", bound),
                      "the number is in the metric's own unit"};
  return parsed;
}

/// Where the i-th condition stands: resolved values keep the places of the text.
config::Location where(const Scenario& scenario, std::size_t i) {
  const config::Node* list = scenario.resolved.find("assert");
  if (list == nullptr || i >= list->items.size()) return {scenario.file, 1, 1};
  return list->items[i].where;
}

bool holds(double value, Comparison comparison, double bound) {
  switch (comparison) {
    case Comparison::less:
      return value < bound;
    case Comparison::at_most:
      return value <= bound;
    case Comparison::greater:
      return value > bound;
    case Comparison::at_least:
      return value >= bound;
  }
  return false;
}

}  // namespace

std::vector<Condition> read_conditions(const Scenario& scenario) {
  std::vector<Condition> conditions;
  std::vector<config::Diagnostic> mistakes;
  const auto classes = class_names(scenario);
  const auto pools = pool_names(scenario);
  for (std::size_t i = 0; i < scenario.asserts.size(); ++i) {
    Parsed parsed = parse(scenario.asserts[i], classes, pools);
    if (!parsed.mistake.message.empty())
      mistakes.push_back({where(scenario, i), fmt::format("assert[{}]", i),
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
  constexpr std::array<std::string_view, 4> opposite{">=", ">", "<=", "<"};
  const std::string_view text = condition.text;
  const std::string_view bound =
      text.substr(text.find_first_not_of("<>= ", text.find_first_of("<>")));
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
