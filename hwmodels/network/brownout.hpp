#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hwmodels/network/topology.hpp"
#include "sim/base/quantity.hpp"

namespace tokenline::hw {

/// The cables between nodes.
enum class FabricLink : std::uint8_t {
  nic,    ///< Of NICs to their leaf switches.
  spine,  ///< Of leaf switches to the spine.
};

/// Cables that carry less than they could, both ways: lanes that are down, retransmissions.
struct Brownout {
  FabricLink link = FabricLink::nic;
  std::optional<std::int64_t> node = {};  ///< Of its NICs; absent: of those of all nodes.
  std::optional<std::int64_t> nic = {};   ///< Of that index in its node; absent: all.
  double bandwidth_factor = 1.0;          ///< Above 0, at most 1.

  friend bool operator==(const Brownout&, const Brownout&) = default;
};

/// Which cables, in words: "nic 0 of node 1", "all nics", "spine".
[[nodiscard]] std::string name(const Brownout& brownout);

/// What a brown-out is about: the links, then the limits that their directions share. Empty where
/// there are no such cables.
[[nodiscard]] std::vector<CapacityId> affected(const Topology& topology, const Brownout& brownout);

/// The capacities of a topology during brown-outs; factors of one cable multiply.
[[nodiscard]] std::vector<BytesPerSecond> capacities(const Topology& topology,
                                                     std::span<const Brownout> brownouts);

}  // namespace tokenline::hw
