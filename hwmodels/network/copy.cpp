#include "hwmodels/network/copy.hpp"

#include <algorithm>
#include <vector>

#include "hwmodels/network/fair_share.hpp"
#include "sim/base/check.hpp"

namespace tokenline::hw {

CopyCost copy_cost(const Network& network, std::span<const CopyShare> shares) {
  TOKENLINE_CHECK(!shares.empty(), "nothing to copy");
  std::vector<Path> paths;
  for (const CopyShare& share : shares) paths.push_back(network.route(share.from, share.to));
  std::vector<FlowDemand> flows;
  for (const Path& path : paths) flows.push_back({.uses = path.uses});
  const std::vector<BytesPerSecond> rates = fair_rates(network.capacities(), flows);
  CopyCost cost{};
  for (std::size_t i = 0; i < shares.size(); ++i) {
    cost.startup = std::max(cost.startup, paths[i].latency);
    cost.unit =
        std::max(cost.unit, real(shares[i].pieces) * paths[i].message + shares[i].bytes / rates[i]);
  }
  return cost;
}

}  // namespace tokenline::hw
