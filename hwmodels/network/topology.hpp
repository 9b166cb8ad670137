#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hwmodels/network/fabric.hpp"
#include "sim/base/quantity.hpp"

namespace tokenline::hw {

enum class VertexKind {
  gpu,
  nvswitch,
  pcie_switch,
  root_complex,
  nic,
  host_memory,
  nvme,
  leaf_switch,
  spine_switch
};

/// Where bytes come from, go to or pass. `index` counts the vertices of a kind inside their node;
/// leaf and spine switches are counted in the cluster, and their `node` is -1.
struct Vertex {
  VertexKind kind = VertexKind::gpu;
  std::int64_t node = 0;
  std::int64_t index = 0;

  friend bool operator==(const Vertex&, const Vertex&) = default;
};

/// "gpu 3 of node 1", "leaf switch 2".
[[nodiscard]] std::string name(const Vertex& vertex);

/// An index into Topology::capacities: a link, or a limit that both directions of a cable share.
using CapacityId = std::uint32_t;

/// A directed link; its index in Topology::links is its CapacityId.
struct Link {
  std::size_t from = 0;  ///< Index into Topology::vertices.
  std::size_t to = 0;
  Seconds latency;
  std::optional<CapacityId> shared;  ///< The limit it shares with the other direction.
};

/// Vertices and directed links of a cluster.
struct Topology {
  std::vector<Vertex> vertices;
  std::vector<Link> links;
  std::vector<BytesPerSecond> capacities;  ///< Of the links, then of the shared limits.
};

/// Contract: first_refusal() of the design is empty.
[[nodiscard]] Topology build_topology(const ClusterDesign& design);

/// Why a design has no topology (several nodes without a fabric, rails changed by an NVSwitch that
/// is not there), as a sentence; empty if it has.
[[nodiscard]] std::string first_refusal(const ClusterDesign& design);

}  // namespace tokenline::hw
