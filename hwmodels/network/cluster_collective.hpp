#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hwmodels/gpu.hpp"
#include "hwmodels/kernels/collective.hpp"
#include "hwmodels/kernels/kernel_cost.hpp"
#include "hwmodels/network/network.hpp"

namespace tokenline::hw {

/// A collective by rings over `ranks` with `payload` per rank, each step taking `alpha` and passing
/// bytes at `bandwidth`: steps · α + ring_factor(op, ranks) · payload / bandwidth, of 2(n − 1)
/// steps for all-reduce, 1 for send_recv, n − 1 for the others.
[[nodiscard]] Seconds ring_time(models::CollectiveOp op, std::int64_t ranks, Bytes payload,
                                Seconds alpha, BytesPerSecond bandwidth);

/// An all-reduce up and down a binary tree, pipelined: 2⌈log₂ n⌉ · α + 2 · payload / bandwidth.
/// Fewer steps than a ring of many ranks, more bytes.
[[nodiscard]] Seconds tree_all_reduce_time(std::int64_t ranks, Bytes payload, Seconds alpha,
                                           BytesPerSecond bandwidth);

/// Prices one operation over GPUs of one node or several. On one node it is the CollectivePricer.
/// Over N nodes of g ranks each it is hierarchical, as NCCL is on such clusters (NVIDIA/nccl-tests
/// issue 196); README.md has the equations:
///
///     t = steps between nodes · α + max(t_node, launch + bytes between nodes / b)
///
/// (all-reduce: of ring and tree the shorter).
/// t_node is the operation among the g ranks of a node (NCCL's curve, else the usual constants; 0
/// for one rank), beside which the chunks of the other ranks pass the network. Ranks of one place
/// in their nodes exchange bytes, all places at once, so that b is the max-min fair rate of the
/// slowest; α is the longest latency of their paths and the fabric's step. Several groups, alike in
/// how they lie on nodes, share the network when all do it at once. Under send_recv each rank sends
/// its payload to the rank of its place on the next node (pipeline stages); the last node only
/// receives. Not modelled: sums in network switches (SHARP), other traffic.
class ClusterCollective {
 public:
  /// `groups` hold the ranks, GPUs of `network`; those of a node take their places in the order
  /// given. `gpu` must outlive this. Routes every pair that exchanges bytes: N · g of each group,
  /// all to all N² · g. Contract: first_refusal() is empty.
  ClusterCollective(const Gpu& gpu, const Network& network, models::CollectiveOp op,
                    const std::vector<std::vector<Vertex>>& groups);
  ClusterCollective(const ClusterCollective&) = delete;
  ClusterCollective& operator=(const ClusterCollective&) = delete;

  /// Why it cannot be priced (one rank, ranks spread unevenly over nodes or otherwise than those of
  /// another group, nothing known of the links in a node), as a sentence; empty if it can.
  [[nodiscard]] static std::string first_refusal(const Gpu& gpu, models::CollectiveOp op,
                                                 const std::vector<std::vector<Vertex>>& groups);

  /// `payload` per rank: the whole tensor for all-reduce, its own part for the others.
  [[nodiscard]] KernelCost operator()(Bytes payload) const;
  /// Between nodes: that of the usual constants, since nothing was measured.
  [[nodiscard]] const FitError& error() const;

 private:
  models::CollectiveOp op_;
  std::int64_t nodes_ = 1;
  std::int64_t ranks_per_node_ = 1;
  /// What NCCL knows of the GPU: engines' own kernels do not reach beyond a node.
  Gpu nccl_;
  std::unique_ptr<const CollectivePricer> in_node_;  ///< Null for one rank per node.
  Seconds alpha_;
  BytesPerSecond bandwidth_;
};

}  // namespace tokenline::hw
