#pragma once

#include <span>
#include <vector>

#include "hwmodels/network/topology.hpp"
#include "sim/base/quantity.hpp"

namespace tokenline::hw {

/// What a flow competes for, and how strongly.
struct FlowDemand {
  std::span<const CapacityId> uses;  ///< Each at most once; not empty.
  double weight = 1.0;               ///< 0.001 to 1,000.
};

/// The max-min fair rate of each flow: no capacity is exceeded, and every flow uses one that is
/// full and on which no flow has more rate per weight. That allocation is unique, so that the order
/// of flows does not matter, to rounding. By progressive filling: the capacity with the least share
/// per weight is filled, its flows are settled, and so on; shares only rise, so that a heap needs
/// O(C + U log U) for C capacities and U = the sum of uses. Bertsekas and Gallager, Data
/// Networks, 6.5.2. Contract: every use is an index into `capacities`, which are above 0.
[[nodiscard]] std::vector<BytesPerSecond> fair_rates(std::span<const BytesPerSecond> capacities,
                                                     std::span<const FlowDemand> flows);

}  // namespace tokenline::hw
