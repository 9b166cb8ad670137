#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hwmodels/network/topology.hpp"

namespace tokenline::hw {

/// Places replicas of so many GPUs each on nodes, in order, as launchers number ranks: a replica
/// takes the next GPUs, one that does not fit what is left of a node begins at the next node. Those
/// larger than a node all lie on their nodes in the same way. Returns the GPUs of each, by rank.
[[nodiscard]] std::vector<std::vector<Vertex>> place(std::span<const std::int64_t> replicas,
                                                     std::int64_t gpus_per_node);

/// The nodes that place() uses.
[[nodiscard]] std::int64_t nodes_of(std::span<const std::int64_t> replicas,
                                    std::int64_t gpus_per_node);

}  // namespace tokenline::hw
