#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hwmodels/network/cluster_collective.hpp"

namespace tokenline::hw {

/// The passing of KV from rank to rank around a ring (context parallelism): each rank sends its
/// block to the next while it receives one, all rings and all ranks at once.
class RingTransfer {
 public:
  /// `groups` hold the ranks of each ring in order, alike in size; those of a replica in one node
  /// without a network, of whose vertices only the number counts. `gpu` must outlive this.
  /// Contract: first_refusal() is empty.
  RingTransfer(const Gpu& gpu, const Network* network,
               const std::vector<std::vector<Vertex>>& groups);

  /// Why the transfer cannot be priced, as a sentence; empty if it can.
  [[nodiscard]] static std::string first_refusal(const Gpu& gpu,
                                                 const std::vector<std::vector<Vertex>>& groups);

  /// Of one hop, in which each rank passes `block`: the slower of those in a node and between
  /// nodes.
  [[nodiscard]] KernelCost operator()(Bytes block) const;

 private:
  std::unique_ptr<const CollectivePricer> in_node_;   ///< Null where no hop stays in a node.
  std::unique_ptr<const ClusterCollective> between_;  ///< Null where none leaves it.
};

/// A prompt chunk's attention on one of `ranks` GPUs, each with a share of the sequence so cut that
/// causal work is even (two pieces from both ends, as in Megatron-LM and Meta's ring pass-KV). In
/// each of `ranks` hops a rank attends to one block of keys, `hop`, and meanwhile passes that block
/// on; the last is not passed:
///
///     ranks · hop at least, (ranks − 1) · max(hop, transfer) + hop
///
/// Liu et al., Ring Attention, arXiv 2310.01889; Yang et al., arXiv 2411.01783. Not modelled: the
/// merging of the hops' partial results, memory for the blocks on their way, and passing queries
/// instead of KV where those are fewer.
[[nodiscard]] KernelCost ring_attention(const KernelCost& hop, const KernelCost& transfer,
                                        std::int64_t ranks);

}  // namespace tokenline::hw
