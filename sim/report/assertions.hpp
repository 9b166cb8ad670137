#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/report/summary.hpp"

namespace tokenline::report {

/// One condition on a metric: "chat.p99_ttft_ms < 500" or "p99_ttft(chat) < 500 ms"; a number
/// without a unit is in the metric's own. README.md says what may be written.
struct Condition {
  enum class Comparison { less, at_most, greater, at_least, equal, unequal };

  std::string text;
  std::string metric;  ///< Its path: metric.hpp.
  Comparison comparison = Comparison::less;
  double bound = 0.0;  ///< In the metric's own unit.
};

/// A text without the spaces at its ends.
[[nodiscard]] std::string_view trimmed(std::string_view text);

/// The path that a metric of a condition means: "p99_ttft(chat)" is "chat.p99_ttft_ms", and
/// "goodput" that of all. Anything that names no metric comes back as it is, but for its form.
[[nodiscard]] std::string metric_path(std::string_view text, std::span<const std::string> classes,
                                      std::span<const std::string> pools);

/// An amount in the metric's own unit, with or without the unit that the metric's name tells:
/// times, rates, shares. Empty for anything else.
[[nodiscard]] std::optional<double> amount_of(std::string_view text, std::string_view metric);

/// Where the i-th `assert:` stands: resolved values keep the places of the text.
[[nodiscard]] config::Location condition_place(const Scenario& scenario, std::size_t i);

/// The scenario's `assert:` conditions. Throws ConfigError with every one that names no metric of
/// the scenario or is not written `metric < number` (or <=, >, >=, ==, !=), at its line.
[[nodiscard]] std::vector<Condition> read_conditions(const Scenario& scenario);

/// A condition that an option of the command line gives. Throws ConfigError, as read_conditions(),
/// at the text `option` ("--breaks x.y > 3"), 1:1.
[[nodiscard]] Condition read_condition(const Scenario& scenario, const std::string& text,
                                       const std::string& option);

/// What holds where a condition with a value does not: "chat.p99_ttft_ms >= 500".
[[nodiscard]] std::string negated(const Condition& condition);

/// Each condition against the summary, in order.
[[nodiscard]] std::vector<AssertResult> check(const std::vector<Condition>& conditions,
                                              const Summary& summary);

}  // namespace tokenline::report
