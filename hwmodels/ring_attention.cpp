#include "hwmodels/ring_attention.hpp"

#include <algorithm>

#include "sim/base/integer.hpp"

namespace tokenline::hw {
namespace {

using models::CollectiveOp;
using Groups = std::vector<std::vector<Vertex>>;

/// Sender and receiver of each hop, in a node or between nodes.
struct Hops {
  Groups in_node;
  Groups between;
};

Hops hops_of(const Groups& rings) {
  Hops hops;
  for (const std::vector<Vertex>& ring : rings)
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const Vertex& from = ring[i];
      const Vertex& to = ring[(i + 1) % ring.size()];
      (from.node == to.node ? hops.in_node : hops.between).push_back({from, to});
    }
  return hops;
}

}  // namespace

std::string RingTransfer::first_refusal(const Gpu& gpu, const Groups& groups) {
  const Hops hops = hops_of(groups);
  for (const Groups& pairs : {hops.in_node, hops.between})
    if (!pairs.empty())
      if (std::string refusal =
              ClusterCollective::first_refusal(gpu, CollectiveOp::send_recv, pairs);
          !refusal.empty())
        return refusal;
  return {};
}

RingTransfer::RingTransfer(const Gpu& gpu, const Network* network, const Groups& groups) {
  const Hops hops = hops_of(groups);
  if (!hops.in_node.empty())
    in_node_ = std::make_unique<const CollectivePricer>(gpu, CollectiveOp::send_recv, 2);
  if (!hops.between.empty() && network != nullptr)
    between_ = std::make_unique<const ClusterCollective>(gpu, *network, CollectiveOp::send_recv,
                                                         hops.between);
}

KernelCost RingTransfer::operator()(Bytes block) const {
  KernelCost cost;
  for (const KernelCost& one :
       {in_node_ ? (*in_node_)(block) : KernelCost{}, between_ ? (*between_)(block) : KernelCost{}})
    if (one.time > cost.time) cost = one;
  return cost;
}

KernelCost ring_attention(const KernelCost& hop, const KernelCost& transfer, std::int64_t ranks) {
  KernelCost all = hop;
  const bool hidden = transfer.time <= hop.time;
  all.time = hop.time + real(ranks - 1) * std::max(hop.time, transfer.time);
  all.flops *= real(ranks);
  all.bytes *= real(ranks);
  if (!hidden) all.provenance = std::max(hop.provenance, transfer.provenance);
  return all;
}

}  // namespace tokenline::hw
