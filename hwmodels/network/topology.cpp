#include "hwmodels/network/topology.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <string_view>

#include "sim/base/check.hpp"
#include "sim/base/integer.hpp"

namespace tokenline::hw {
namespace {

constexpr std::array<std::string_view, 9> vertex_names{
    "gpu",         "nvswitch", "PCIe switch", "root complex", "NIC",
    "host memory", "nvme",     "leaf switch", "spine switch"};

class Builder {
 public:
  explicit Builder(const ClusterDesign& design)
      : design_(design), fabric_(design.nodes > 1 ? &design.between_nodes() : nullptr) {}

  Topology build() {
    for (std::int64_t node = 0; node < design_.nodes; ++node) build_node(node);
    if (fabric_ != nullptr) {
      connect_leaves(*fabric_);
      if (leaf_nics_.size() > 1) connect_spine(*fabric_);
    }
    // Shared limits come after the links, whose number is known only now.
    for (const auto& [link, limit] : both_ways_) {
      topology_.links[link].shared = static_cast<CapacityId>(topology_.capacities.size());
      topology_.links[link + 1].shared = topology_.links[link].shared;
      topology_.capacities.push_back(limit);
    }
    return std::move(topology_);
  }

 private:
  std::size_t add(VertexKind kind, std::int64_t node, std::int64_t index) {
    topology_.vertices.push_back({kind, node, index});
    return topology_.vertices.size() - 1;
  }

  /// Both directions of a cable from `source`, out of which bytes flow forward, to `target`.
  void connect(std::size_t source, std::size_t target, const Cable& cable) {
    if (cable.both_ways > BytesPerSecond()) both_ways_[topology_.links.size()] = cable.both_ways;
    topology_.links.push_back({source, target, cable.latency, {}});
    topology_.links.push_back({target, source, cable.latency, {}});
    topology_.capacities.push_back(cable.forward);
    topology_.capacities.push_back(cable.backward);
  }

  void build_node(std::int64_t node) {
    const NodeFabric& kind = design_.node;
    const std::size_t root = add(VertexKind::root_complex, node, 0);
    connect(add(VertexKind::host_memory, node, 0), root, kind.memory);
    connect(add(VertexKind::nvme, node, 0), root, kind.nvme);
    const bool nic_per_gpu = fabric_ != nullptr && fabric_->nic_per_gpu;
    if (fabric_ != nullptr && !nic_per_gpu) add_nic(node, 0, root, fabric_->nic);
    const bool switched = kind.nvlink && design_.gpus_per_node > 1;
    const std::size_t nvswitch = switched ? add(VertexKind::nvswitch, node, 0) : 0;
    // What both directions of a GPU's copies share is the way to host memory, not to its NIC.
    Cable to_gpu = kind.pcie;
    to_gpu.both_ways = {};
    std::size_t pcie_switch = 0;
    for (std::int64_t i = 0; i < design_.gpus_per_node; ++i) {
      if (i % kind.gpus_per_switch == 0) {
        pcie_switch = add(VertexKind::pcie_switch, node, i / kind.gpus_per_switch);
        connect(root, pcie_switch, kind.pcie);
      }
      const std::size_t gpu = add(VertexKind::gpu, node, i);
      connect(pcie_switch, gpu, to_gpu);
      if (kind.nvlink && switched) connect(nvswitch, gpu, *kind.nvlink);
      if (nic_per_gpu) add_nic(node, i, pcie_switch, fabric_->nic);
    }
  }

  /// A NIC has the rate of its cable to the leaf; its slot is no limit of its own.
  void add_nic(std::int64_t node, std::int64_t index, std::size_t slot, Cable cable) {
    const std::size_t nic = add(VertexKind::nic, node, index);
    cable.latency = {};
    connect(nic, slot, cable);
    nics_.push_back(nic);
  }

  void connect_leaves(const InterFabric& fabric) {
    for (const std::size_t nic : nics_) {
      const Vertex vertex = topology_.vertices[nic];
      const std::int64_t group = vertex.node / fabric.nodes_per_leaf;
      const std::int64_t leaf = fabric.rails ? group * design_.gpus_per_node + vertex.index : group;
      leaf_nics_[leaf].push_back(nic);
    }
    for (const auto& [index, nics] : leaf_nics_) {
      leaves_.push_back(add(VertexKind::leaf_switch, -1, index));
      for (const std::size_t nic : nics) connect(leaves_.back(), nic, fabric.nic);
    }
  }

  void connect_spine(const InterFabric& fabric) {
    const bool one_group = design_.nodes <= fabric.nodes_per_leaf;
    if (one_group && fabric.rails && fabric.cross_rail == CrossRail::nvswitch) return;
    const std::size_t spine = add(VertexKind::spine_switch, -1, 0);
    std::size_t leaf = 0;
    for (const auto& [index, nics] : leaf_nics_) {
      const double rate = static_cast<double>(nics.size()) / fabric.oversubscription;
      connect(spine, leaves_[leaf++],
              {fabric.nic.forward * rate, fabric.nic.backward * rate, fabric.spine_latency, {}});
    }
  }

  const ClusterDesign& design_;
  const InterFabric* fabric_;  ///< Null for one node.
  Topology topology_;
  std::map<std::size_t, BytesPerSecond> both_ways_;  ///< By the first link of the cable.
  std::vector<std::size_t> nics_;
  std::map<std::int64_t, std::vector<std::size_t>> leaf_nics_;
  std::vector<std::size_t> leaves_;
};

}  // namespace

std::string name(const Vertex& vertex) {
  const std::string_view kind = vertex_names.at(static_cast<std::size_t>(vertex.kind));
  if (vertex.node < 0) return fmt::format("{} {}", kind, vertex.index);
  return fmt::format("{} {} of node {}", kind, vertex.index, vertex.node);
}

std::string first_refusal(const ClusterDesign& design) {
  if (design.nodes > 1 && !design.fabric)
    return fmt::format("{} nodes need a fabric that connects them", design.nodes);
  if (design.fabric && design.fabric->rails && design.fabric->cross_rail == CrossRail::nvswitch &&
      !design.node.nvlink && design.gpus_per_node > 1)
    return fmt::format("'{}' changes rails by the NVSwitch, which a node '{}' lacks",
                       design.fabric->name, design.node.name);
  return {};
}

Topology build_topology(const ClusterDesign& design) {
  TOKENLINE_CHECK(first_refusal(design).empty(), "{}", first_refusal(design));
  return Builder(design).build();
}

}  // namespace tokenline::hw
