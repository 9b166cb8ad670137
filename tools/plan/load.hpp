#pragma once

#include <string>
#include <vector>

#include "sim/config/node.hpp"

namespace tokenline::plan {

/// Overrides that multiply the load of a scenario, given resolved, by `factor`: the rates of
/// generated classes, the `speedup` of traces. None for a factor of 1.
[[nodiscard]] std::vector<std::string> scaled_load(const config::Node& resolved, double factor);

/// Why the load of a scenario cannot be scaled; empty where it can: a closed loop has clients, and
/// no rate.
[[nodiscard]] std::string unscalable(const config::Node& resolved);

}  // namespace tokenline::plan
