#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/config/reader.hpp"

namespace tokenline::sweep {

/// A key of the scenario with a value, and where the sweep says so.
struct Setting {
  std::string key;
  std::string value;       ///< As an axis shows it: a scalar's text, or "{a: 1, b: [2, 3]}".
  std::string assignment;  ///< "key=value" for ScenarioOptions::overrides.
  config::Location where;
};

/// What varies together: each level sets the same keys, in the same order.
struct Factor {
  std::vector<std::vector<Setting>> levels;
};

/// A sweep's text. Its points are every combination of the factors' levels with the seeds.
struct SweepText {
  std::string name;
  std::string description;
  std::string base;  ///< Path of the scenario; empty where that is a mistake.
  std::vector<Factor> factors;
  std::vector<Setting> seeds;  ///< Empty: that of the scenario.
};

/// More points than anybody waits for: as many scenarios are loaded before the first one runs.
inline constexpr std::size_t most_points = 1'000'000;

/// Reads the keys of a sweep; mistakes go to the document. Whether the scenario takes the values is
/// left open.
[[nodiscard]] SweepText read_sweep(config::Document& document);

}  // namespace tokenline::sweep
