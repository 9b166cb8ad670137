#include "hwmodels/network/brownout.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tokenline::hw {
namespace {

bool is_meant(const Vertex& end, const Vertex& other, const Brownout& brownout) {
  if (brownout.link == FabricLink::spine) return end.kind == VertexKind::spine_switch;
  return end.kind == VertexKind::nic && other.kind == VertexKind::leaf_switch &&
         end.node == brownout.node.value_or(end.node) &&
         end.index == brownout.nic.value_or(end.index);
}

}  // namespace

std::string name(const Brownout& brownout) {
  if (brownout.link == FabricLink::spine) return "spine";
  std::string text = brownout.nic ? fmt::format("nic {}", *brownout.nic) : "all nics";
  if (brownout.node) text += fmt::format(" of node {}", *brownout.node);
  return text;
}

std::vector<CapacityId> affected(const Topology& topology, const Brownout& brownout) {
  std::vector<CapacityId> ids;
  for (std::size_t i = 0; i < topology.links.size(); ++i) {
    const Link& link = topology.links[i];
    const Vertex& from = topology.vertices[link.from];
    const Vertex& to = topology.vertices[link.to];
    if (!is_meant(from, to, brownout) && !is_meant(to, from, brownout)) continue;
    ids.push_back(static_cast<CapacityId>(i));
    if (link.shared) ids.push_back(*link.shared);
  }
  std::ranges::sort(ids);
  const auto repeated = std::ranges::unique(ids);
  ids.erase(repeated.begin(), repeated.end());
  return ids;
}

std::vector<BytesPerSecond> capacities(const Topology& topology,
                                       std::span<const Brownout> brownouts) {
  std::vector<BytesPerSecond> capacities = topology.capacities;
  for (const Brownout& brownout : brownouts)
    for (const CapacityId id : affected(topology, brownout))
      capacities[id] *= brownout.bandwidth_factor;
  return capacities;
}

}  // namespace tokenline::hw
