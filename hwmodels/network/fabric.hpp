#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/quantity.hpp"

namespace tokenline::config {
class Reader;
}

namespace tokenline::hw {

/// A full-duplex connection as payload sees it: line rate times protocol efficiency.
struct Cable {
  BytesPerSecond forward;    ///< Towards the GPU, out of memory, out of a drive.
  BytesPerSecond backward;   ///< The other way.
  Seconds latency;           ///< Of a message, either way.
  BytesPerSecond both_ways;  ///< Limit of the sum of the two directions; 0: none.
};

/// A kind of node. Its GPUs hang on PCIe switches, which hang on the root complex with memory and
/// drives; an NVSwitch, if there is one, connects all GPUs.
struct NodeFabric {
  std::string name;
  std::string description;
  std::int64_t gpus = 1;        ///< Of the usual node.
  std::optional<Cable> nvlink;  ///< Of one GPU to the NVSwitch.
  Cable pcie;                   ///< Of one GPU to its PCIe switch, of that to the root complex.
  std::int64_t gpus_per_switch = 1;
  Cable memory;     ///< All of the host's memory.
  Cable nvme;       ///< All drives together.
  Seconds message;  ///< Of each contiguous piece of a transfer inside the node.
};

/// How a flow reaches a GPU of another node whose NIC is on another rail.
enum class CrossRail {
  nvswitch,  ///< Through the NVSwitch to the neighbour on that rail, then by its NIC (PXN of NCCL).
  spine,     ///< By its own NIC and the spine switches.
};

/// What connects nodes: NICs, leaf switches, and one spine that stands for all spine switches.
struct InterFabric {
  std::string name;
  std::string description;
  bool nic_per_gpu = false;  ///< A NIC at each GPU's PCIe switch; else one at the root complex.
  Cable nic;                 ///< Of a NIC to its leaf; latency of NIC and leaf included.
  bool rails = false;        ///< NICs of one index share a leaf; else those of a group of nodes do.
  CrossRail cross_rail = CrossRail::spine;
  std::int64_t nodes_per_leaf = 1;
  double oversubscription = 1.0;  ///< NIC bandwidth of a leaf over its bandwidth to the spine.
  Seconds spine_latency;          ///< Of a leaf to the spine, or back.
  Seconds message;                ///< Of each contiguous piece of a transfer between nodes.
  Seconds collective_step;        ///< Of each step of a collective, beyond the latency of its path.
  double collective_efficiency = 1.0;  ///< Share of a path's bandwidth that collectives reach.
};

/// A cluster of equal nodes; `fabric` is absent where there is one node.
struct ClusterDesign {
  std::int64_t nodes = 1;
  std::int64_t gpus_per_node = 1;
  NodeFabric node;
  std::optional<InterFabric> fabric;

  /// What connects the nodes. Contract: there is a fabric.
  [[nodiscard]] const InterFabric& between_nodes() const;
};

/// Loads a preset by name ("hgx_h100", "roce_8x400g"), or a file of the same format (recognised by
/// '/' or ".yaml"). Throws config::ConfigError with every mistake.
[[nodiscard]] NodeFabric load_node_fabric(const std::string& name_or_path);
[[nodiscard]] InterFabric load_inter_fabric(const std::string& name_or_path);

/// Parses the text of a preset; `file` is for messages. Throws config::ConfigError.
[[nodiscard]] NodeFabric parse_node_fabric(const std::string& file, std::string_view yaml);
[[nodiscard]] InterFabric parse_inter_fabric(const std::string& file, std::string_view yaml);

/// Names of the embedded presets, sorted.
[[nodiscard]] std::vector<std::string> node_fabric_names();
[[nodiscard]] std::vector<std::string> inter_fabric_names();

/// Reads the keys `node`, `nodes` (default: as many as `replicas`, of so many GPUs each, take by
/// place(); at least 1), `gpus_per_node` (default: the usual of the node) and `fabric` (required
/// for more than one node). Too few nodes for the replicas are a mistake. Mistakes are recorded in
/// the reader's document, those inside a file that a key names at their own line.
[[nodiscard]] ClusterDesign read_cluster_design(config::Reader& reader,
                                                std::span<const std::int64_t> replicas = {});

}  // namespace tokenline::hw
