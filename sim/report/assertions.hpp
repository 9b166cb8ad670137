#pragma once

#include <string>
#include <vector>

#include "sim/report/summary.hpp"

namespace tokenline::report {

/// One condition on a metric: "chat.p99_ttft_ms < 500", the number in the metric's own unit.
struct Condition {
  enum class Comparison { less, at_most, greater, at_least };

  std::string text;
  std::string metric;  ///< metric.hpp
  Comparison comparison = Comparison::less;
  double bound = 0.0;
};

/// The scenario's `assert:` conditions. Throws ConfigError with every one that names no metric of
/// the scenario or is not written `metric < number` (or <=, >, >=), at its line.
[[nodiscard]] std::vector<Condition> read_conditions(const Scenario& scenario);

/// Each condition against the summary, in order.
[[nodiscard]] std::vector<AssertResult> check(const std::vector<Condition>& conditions,
                                              const Summary& summary);

}  // namespace tokenline::report
