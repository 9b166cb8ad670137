#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/engine/scenario.hpp"

namespace tokenline::report {

/// Where a value of a resolved scenario comes from.
enum class Origin : std::uint8_t {
  scenario,    ///< The scenario file.
  overridden,  ///< `--set`, `--seed`, or `set:` of a study.
  preset,      ///< The preset that the scenario names.
  standard,    ///< The default of the key.
};

/// One value of a resolved scenario.
struct ConfigValue {
  std::string path;   ///< "traffic.chat.prompt_tokens", "faults[0].at"
  std::string value;  ///< As YAML.
  Origin origin = Origin::standard;
  std::string place;  ///< "incident.yaml:12" or "--set seed=7"; empty for a default.
};

/// Every scalar of the resolved scenario, in its order.
[[nodiscard]] std::vector<ConfigValue> config_values(const Scenario& scenario);

/// The word that the report uses.
[[nodiscard]] std::string_view name(Origin origin);

}  // namespace tokenline::report
