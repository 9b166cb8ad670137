#include "sim/engine/price_changes.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <utility>

#include "sim/engine/scenario.hpp"

namespace tokenline {
namespace {

using Gpus = std::vector<hw::Vertex>;

/// The nodes on which a replica lies, in the order of its ranks.
std::vector<std::int64_t> nodes_of(const Gpus& gpus) {
  std::vector<std::int64_t> nodes;
  for (const hw::Vertex& gpu : gpus)
    if (std::ranges::find(nodes, gpu.node) == nodes.end()) nodes.push_back(gpu.node);
  return nodes;
}

/// The brown-outs that concern a replica, as if it lay where `first` does.
std::vector<hw::Brownout> as_of_first(std::vector<hw::Brownout> brownouts, const Gpus& own,
                                      const Gpus& first) {
  const std::vector<std::int64_t> from = nodes_of(own);
  const std::vector<std::int64_t> to = nodes_of(first);
  std::erase_if(brownouts, [&](hw::Brownout& brownout) {
    if (!brownout.node) return false;
    const auto found = std::ranges::find(from, *brownout.node);
    if (found == from.end()) return true;
    brownout.node = to[static_cast<std::size_t>(found - from.begin())];
    return false;
  });
  return brownouts;
}

/// Prices of replicas that lie as `first` does, by the brown-outs that concern them.
class DegradedCosts {
 public:
  DegradedCosts(std::shared_ptr<const hw::ReplicaCost> usual, const Gpus& first) : first_(first) {
    costs_.emplace_back(std::vector<hw::Brownout>(), std::move(usual));
  }

  std::shared_ptr<const hw::ReplicaCost> at(const std::vector<hw::Brownout>& all, const Gpus& own) {
    const std::vector<hw::Brownout> brownouts = as_of_first(all, own, first_);
    const auto known = std::ranges::find(costs_, brownouts, &Entry::first);
    if (known != costs_.end()) return known->second;
    hw::StepSetup setup = costs_.front().second->setup();
    setup.network = std::make_shared<const hw::Network>(setup.network->design(), brownouts);
    costs_.emplace_back(brownouts, std::make_shared<const hw::ReplicaCost>(setup));
    return costs_.back().second;
  }

 private:
  using Entry = std::pair<std::vector<hw::Brownout>, std::shared_ptr<const hw::ReplicaCost>>;

  const Gpus& first_;
  std::vector<Entry> costs_;  ///< The first is that without brown-outs.
};

using Nodes = std::set<std::int64_t>;

/// The nodes of all replicas of the pools of a role.
Nodes nodes_of_role(const Scenario& scenario, PoolRole role) {
  Nodes nodes;
  std::size_t replica = 0;
  for (const Pool& pool : scenario.pools)
    for (std::int64_t i = 0; i < pool.replicas; ++i, ++replica)
      if (pool.role == role)
        for (const hw::Vertex& gpu : scenario.cluster.gpus[replica]) nodes.insert(gpu.node);
  return nodes;
}

/// Of `ends`, those that are not the only node of `others`.
void add_apart(Nodes& crossed, const Nodes& ends, const Nodes& others) {
  for (const std::int64_t node : ends)
    if (others.size() > (others.contains(node) ? 1U : 0U)) crossed.insert(node);
}

/// Nodes whose NICs carry collectives of a replica, or KV from pool to pool.
Nodes crossed_nodes(const Scenario& scenario) {
  Nodes crossed;
  for (const Gpus& gpus : scenario.cluster.gpus)
    if (const auto nodes = nodes_of(gpus); nodes.size() > 1)
      crossed.insert(nodes.begin(), nodes.end());
  const Nodes from = nodes_of_role(scenario, PoolRole::prefill);
  const Nodes to = nodes_of_role(scenario, PoolRole::decode);
  add_apart(crossed, from, to);
  add_apart(crossed, to, from);
  return crossed;
}

}  // namespace

const hw::ReplicaCost& cost_at(TimePoint now, const hw::ReplicaCost& usual,
                               std::span<const PriceChange> changes) {
  const auto next = std::ranges::upper_bound(changes, now, {}, &PriceChange::when);
  return next == changes.begin() ? usual : *std::prev(next)->cost;
}

void price_brownouts(Scenario& scenario) {
  const std::vector<TimePoint> times = brownout_changes(scenario.faults);
  if (times.empty()) return;
  const std::vector<Gpus>& gpus = scenario.cluster.gpus;
  scenario.price_changes.resize(gpus.size());
  const auto price = [&](std::size_t begin, std::size_t end,
                         const std::shared_ptr<const hw::ReplicaCost>& cost) {
    if (nodes_of(gpus[begin]).size() == 1) return;
    DegradedCosts costs(cost, gpus[begin]);
    for (std::size_t i = begin; i < end; ++i)
      for (const TimePoint when : times)
        scenario.price_changes[i].push_back(
            {.when = when, .cost = costs.at(brownouts(scenario.faults, when), gpus[i])});
  };
  if (scenario.pools.empty()) price(0, gpus.size(), scenario.cost);
  std::size_t begin = 0;
  for (const Pool& pool : scenario.pools) {
    const std::size_t end = begin + static_cast<std::size_t>(pool.replicas);
    price(begin, end, pool.cost);
    begin = end;
  }
}

std::vector<std::size_t> idle_brownouts(const Scenario& scenario) {
  std::vector<std::size_t> idle;
  if (brownout_changes(scenario.faults).empty()) return idle;
  const Nodes crossed = crossed_nodes(scenario);
  for (std::size_t i = 0; i < scenario.faults.size(); ++i) {
    const Fault& fault = scenario.faults[i];
    if (fault.kind != FaultKind::link_brownout) continue;
    const auto& node = fault.brownout.node;
    if (crossed.empty() || (node && !crossed.contains(*node))) idle.push_back(i);
  }
  return idle;
}

}  // namespace tokenline
