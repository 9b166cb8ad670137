#pragma once

#include "sim/engine/scenario.hpp"

namespace tokenline {

/// Reads `cluster.admission` and the keys that go with it.
void read_admission(config::Reader& cluster, const Policies& policies, ClusterConfig& config);

/// Tells admission the priorities of the classes, and checks what depends on the traffic.
void complete_admission(const config::Reader& cluster, const traffic::Traffic& traffic,
                        ClusterConfig& config);

}  // namespace tokenline
