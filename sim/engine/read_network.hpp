#pragma once

#include <cstdint>
#include <span>

#include "sim/engine/scenario.hpp"

namespace tokenline {

/// Reads `cluster.network` and places replicas of so many GPUs each on its nodes: sets
/// ClusterConfig::network and ClusterConfig::gpus, which stay empty without the key and after a
/// mistake. `replicas` is empty where a mistake was found in what it comes from.
void read_network(config::Reader& cluster, std::span<const std::int64_t> replicas,
                  ClusterConfig& config);

}  // namespace tokenline
