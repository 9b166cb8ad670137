#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "sim/engine/scenario.hpp"

namespace tokenline {

/// A pool's section while it is read, in the order of Scenario::pools.
struct PoolSection {
  config::Reader reader;
  std::optional<hw::Gpu> gpu;
};

/// Gives each of `cluster.pools` the GPU, the number of replicas and the parallelism of `cluster`
/// and the keys of `engine` that it does not set itself; one that names a preset of its own gets
/// that preset's keys.
void apply_pool_defaults(config::Node& scenario);

/// The degrees of parallelism of a replica, of `cluster` or of a pool; `standard`: what describe
/// says of their defaults, if that is not 1.
[[nodiscard]] models::Parallelism read_parallelism(config::Reader& reader,
                                                   std::string_view standard = {});

/// Reads `cluster.pools`, but for their engines, and `cluster.disaggregate` into Scenario::pools
/// and Scenario::disaggregation.
[[nodiscard]] std::vector<PoolSection> read_pools(config::Reader& cluster, Scenario& scenario);

/// Whether the pools can hand over what they compute: engines that keep KV alike, one pipeline
/// stage, a network. Reported at the key to change.
[[nodiscard]] bool check_pools(const Scenario& scenario, const std::vector<PoolSection>& sections,
                               const config::Reader& root, const config::Reader& cluster);

}  // namespace tokenline
