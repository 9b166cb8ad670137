#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "hwmodels/replica_cost.hpp"
#include "sim/base/time.hpp"

namespace tokenline {

struct Scenario;

/// From when on the steps of a replica cost something else.
struct PriceChange {
  TimePoint when{};
  std::shared_ptr<const hw::ReplicaCost> cost;
};

/// What prices a step that starts at `now`: `usual` before the first of `changes`, which ascend.
[[nodiscard]] const hw::ReplicaCost& cost_at(TimePoint now, const hw::ReplicaCost& usual,
                                             std::span<const PriceChange> changes);

/// Prices what brown-outs of the scenario's faults make slower: the steps of replicas that span
/// nodes, each as the first of its pool lies, on the network that is left. Sets
/// Scenario::price_changes. Needs the scenario's costs; builds one more for each state of the
/// network that some replica meets.
void price_brownouts(Scenario& scenario);

/// Which of the scenario's faults are brown-outs of links that nothing crosses: no replica lies on
/// their node and another one, and no KV moves between pools over them.
[[nodiscard]] std::vector<std::size_t> idle_brownouts(const Scenario& scenario);

}  // namespace tokenline
