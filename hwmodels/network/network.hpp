#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hwmodels/network/brownout.hpp"
#include "hwmodels/network/fabric.hpp"
#include "hwmodels/network/topology.hpp"
#include "sim/base/quantity.hpp"

namespace tokenline::hw {

/// The GPU of that index, the host memory or the drives of a node: the ends of paths.
[[nodiscard]] constexpr Vertex gpu_at(std::int64_t node, std::int64_t index) {
  return {VertexKind::gpu, node, index};
}
[[nodiscard]] constexpr Vertex memory_at(std::int64_t node) {
  return {VertexKind::host_memory, node, 0};
}
[[nodiscard]] constexpr Vertex nvme_at(std::int64_t node) { return {VertexKind::nvme, node, 0}; }

/// The way of a flow.
struct Path {
  std::vector<CapacityId> links;  ///< In the order of the way.
  std::vector<CapacityId> uses;   ///< Those and the shared limits: what the flow competes for.
  Seconds latency;                ///< Of all its links.
  BytesPerSecond bandwidth;       ///< The least capacity it uses: what it gets when alone.
  Seconds message;                ///< Time of each contiguous piece, beyond its bytes.
};

/// The graph of a cluster. Never changes after construction. Not modelled: packets, congestion
/// control, failures, collisions of flows that ECMP puts on one of several spine links (the spine
/// is one switch).
class Network {
 public:
  /// As it is during brown-outs, which leave routes as they are. Contract: first_refusal(design) is
  /// empty.
  explicit Network(const ClusterDesign& design, std::span<const Brownout> brownouts = {});
  Network(Network&&) noexcept;
  Network& operator=(Network&&) noexcept;
  ~Network();

  [[nodiscard]] const ClusterDesign& design() const { return design_; }
  [[nodiscard]] const Topology& topology() const { return topology_; }
  /// What paths use, by CapacityId.
  [[nodiscard]] std::span<const BytesPerSecond> capacities() const { return topology_.capacities; }

  /// The path between two different GPUs, memories or drives: least latency, of equals the fewest
  /// links, of equals the earlier links. It passes another GPU only to change rails by NVSwitch.
  /// Between nodes a GPU uses the NIC of its rail; memory and drives use that of the GPU at the
  /// other end, or the first. Takes O(V log V) for V vertices of the cluster: callers keep the
  /// paths they use often. Contract: both ends exist and differ.
  [[nodiscard]] Path route(const Vertex& from, const Vertex& to) const;

 private:
  class Graph;

  ClusterDesign design_;
  Topology topology_;
  std::unique_ptr<const Graph> graph_;
};

}  // namespace tokenline::hw
