#pragma once

#include <vector>

#include "hwmodels/network/network.hpp"

namespace tokenline::hw {

/// Both directions at `rate` bytes per second.
inline Cable cable(double rate, double latency = 0.0, double both_ways = 0.0) {
  return {BytesPerSecond(rate), BytesPerSecond(rate), Seconds(latency), BytesPerSecond(both_ways)};
}

/// A NIC of 10 B/s and 3 s at each GPU, rails, two nodes per leaf; cross-rail by the spine, 0.25 s
/// a link. Messages take 2 s, steps of collectives 1 s more; they reach half of the bandwidth.
inline InterFabric round_fabric() {
  InterFabric fabric;
  fabric.name = "rails";
  fabric.nic_per_gpu = true;
  fabric.nic = cable(10.0, 3.0);
  fabric.rails = true;
  fabric.cross_rail = CrossRail::spine;
  fabric.nodes_per_leaf = 2;
  fabric.spine_latency = Seconds(0.25);
  fabric.message = Seconds(2.0);
  fabric.collective_step = Seconds(1.0);
  fabric.collective_efficiency = 0.5;
  return fabric;
}

/// The same with one NIC per node.
inline InterFabric shared_nic_fabric() {
  InterFabric fabric = round_fabric();
  fabric.nic_per_gpu = false;
  fabric.rails = false;
  return fabric;
}

/// Nodes of four GPUs on an NVSwitch (400 B/s), two per PCIe switch (100 B/s, 1 s a link). Messages
/// take 0.5 s.
inline ClusterDesign round_design(std::int64_t nodes = 2,
                                  const InterFabric& fabric = round_fabric()) {
  ClusterDesign design;
  design.nodes = nodes;
  design.gpus_per_node = 4;
  design.node.name = "round";
  design.node.gpus = 4;
  design.node.nvlink = cable(400.0, 0.5);
  design.node.pcie = cable(100.0, 1.0, 150.0);
  design.node.gpus_per_switch = 2;
  design.node.memory = cable(1000.0);
  design.node.nvme = {BytesPerSecond(20.0), BytesPerSecond(5.0), Seconds(4.0), {}};
  design.node.message = Seconds(0.5);
  design.fabric = fabric;
  return design;
}

/// The kinds of vertices on a path, its ends included.
inline std::vector<VertexKind> kinds(const Network& network, const Path& path) {
  const Topology& topology = network.topology();
  std::vector<VertexKind> kinds{topology.vertices[topology.links[path.links.front()].from].kind};
  for (const CapacityId link : path.links)
    kinds.push_back(topology.vertices[topology.links[link].to].kind);
  return kinds;
}

}  // namespace tokenline::hw
