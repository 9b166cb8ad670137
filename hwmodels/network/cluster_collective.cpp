#include "hwmodels/network/cluster_collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "hwmodels/network/fair_share.hpp"
#include "hwmodels/usual_fits.hpp"
#include "sim/base/check.hpp"
#include "sim/base/integer.hpp"

namespace tokenline::hw {
namespace {

using models::CollectiveOp;

double ring_steps(CollectiveOp op, std::int64_t ranks) {
  if (op == CollectiveOp::send_recv) return 1.0;
  return (op == CollectiveOp::all_reduce ? 2.0 : 1.0) * real(ranks - 1);
}

/// The ranks of each node, nodes and ranks in the order given.
std::vector<std::vector<Vertex>> by_node(const std::vector<Vertex>& ranks) {
  std::vector<std::vector<Vertex>> nodes;
  for (const Vertex& rank : ranks) {
    const auto at = std::ranges::find(nodes, rank.node,
                                      [](const auto& of_node) { return of_node.front().node; });
    if (at == nodes.end())
      nodes.push_back({rank});
    else
      at->push_back(rank);
  }
  return nodes;
}

/// A GPU of which only the links and NCCL's curves are known.
Gpu only_nccl(const Gpu& gpu) {
  Gpu rest;
  rest.name = gpu.name;
  rest.interconnect = gpu.interconnect;
  std::ranges::copy_if(gpu.collectives, std::back_inserter(rest.collectives),
                       [](const CollectiveCurve& curve) {
                         return curve.implementation == CollectiveImplementation::nccl;
                       });
  return rest;
}

/// The paths on which bytes pass between nodes at the same time: from each rank to that of its
/// place on the next node, or, all to all, on every other node.
std::vector<Path> paths_between(const Network& network, CollectiveOp op,
                                const std::vector<std::vector<Vertex>>& nodes) {
  const std::size_t last_step = op == CollectiveOp::all_to_all ? nodes.size() - 1 : 1;
  const std::size_t senders = op == CollectiveOp::send_recv ? nodes.size() - 1 : nodes.size();
  std::vector<Path> paths;
  for (std::size_t step = 1; step <= last_step; ++step)
    for (std::size_t node = 0; node < senders; ++node)
      for (std::size_t place = 0; place < nodes.front().size(); ++place)
        paths.push_back(
            network.route(nodes[node][place], nodes[(node + step) % nodes.size()][place]));
  return paths;
}

BytesPerSecond slowest_rate(const Network& network, const std::vector<Path>& paths) {
  std::vector<FlowDemand> flows;
  flows.reserve(paths.size());
  for (const Path& path : paths) flows.push_back({.uses = path.uses});
  return std::ranges::min(fair_rates(network.capacities(), flows));
}

}  // namespace

Seconds ring_time(CollectiveOp op, std::int64_t ranks, Bytes payload, Seconds alpha,
                  BytesPerSecond bandwidth) {
  return ring_steps(op, ranks) * alpha + ring_factor(op, ranks) * payload / bandwidth;
}

Seconds tree_all_reduce_time(std::int64_t ranks, Bytes payload, Seconds alpha,
                             BytesPerSecond bandwidth) {
  const auto depth = static_cast<double>(std::bit_width(static_cast<std::uint64_t>(ranks - 1)));
  return 2.0 * depth * alpha + 2.0 * payload / bandwidth;
}

std::string ClusterCollective::first_refusal(const Gpu& gpu, CollectiveOp op,
                                             const std::vector<std::vector<Vertex>>& groups) {
  TOKENLINE_CHECK(!groups.empty(), "{} of nobody", name(op));
  const std::size_t nodes = by_node(groups.front()).size();
  const std::size_t in_node = groups.front().size() / nodes;
  for (const std::vector<Vertex>& ranks : groups) {
    const auto spread = by_node(ranks);
    if (ranks.size() < 2) return fmt::format("{} of {} ranks", name(op), ranks.size());
    for (const std::vector<Vertex>& of_node : spread)
      if (of_node.size() * spread.size() != ranks.size())
        return fmt::format("{} ranks are not spread evenly over {} nodes", ranks.size(),
                           spread.size());
    if (spread.size() != nodes || ranks.size() != groups.front().size())
      return fmt::format("{} groups of {} ranks do not lie on nodes in the same way", groups.size(),
                         ranks.size());
  }
  const auto gpus = static_cast<std::int64_t>(in_node);
  const bool needs_node = nodes == 1 || (in_node > 1 && op != CollectiveOp::send_recv);
  const Gpu known = nodes == 1 ? gpu : only_nccl(gpu);
  if (needs_node && !CollectivePricer::priced(known, op, gpus))
    return fmt::format("{} has no {} between {} GPUs of a node", gpu.name, name(op), gpus);
  return {};
}

ClusterCollective::ClusterCollective(const Gpu& gpu, const Network& network, CollectiveOp op,
                                     const std::vector<std::vector<Vertex>>& groups)
    : op_(op), nccl_(only_nccl(gpu)) {
  TOKENLINE_CHECK(first_refusal(gpu, op, groups).empty(), "{}", first_refusal(gpu, op, groups));
  nodes_ = std::ssize(by_node(groups.front()));
  ranks_per_node_ = std::ssize(groups.front()) / nodes_;
  if (nodes_ == 1) {
    in_node_ = std::make_unique<const CollectivePricer>(gpu, op, ranks_per_node_);
    return;
  }
  if (ranks_per_node_ > 1 && op != CollectiveOp::send_recv)
    in_node_ = std::make_unique<const CollectivePricer>(nccl_, op, ranks_per_node_);
  const InterFabric& fabric = network.design().between_nodes();
  std::vector<Path> paths;
  for (const std::vector<Vertex>& ranks : groups)
    std::ranges::move(paths_between(network, op, by_node(ranks)), std::back_inserter(paths));
  alpha_ = std::ranges::max_element(paths, {}, &Path::latency)->latency + fabric.collective_step;
  // All to all, a rank's bytes are spread over as many paths at once.
  const double paths_of_rank = op == CollectiveOp::all_to_all ? real(nodes_ - 1) : 1.0;
  bandwidth_ = slowest_rate(network, paths) * paths_of_rank * fabric.collective_efficiency;
}

KernelCost ClusterCollective::operator()(Bytes payload) const {
  if (nodes_ == 1) return (*in_node_)(payload);
  const bool gathers = op_ == CollectiveOp::all_gather || op_ == CollectiveOp::reduce_scatter;
  Seconds node;
  // Gathering, a rank passes on inside its node what all ranks of its place hold.
  if (in_node_) node = (*in_node_)(gathers ? real(nodes_) * payload : payload).time;
  // What one rank of each node passes between nodes: of an all-reduce, its share of the tensor.
  const Bytes own = op_ == CollectiveOp::all_reduce ? payload / real(ranks_per_node_) : payload;
  const auto overlapped = [&](const auto& between_nodes) {
    const Seconds latency = between_nodes(Bytes());
    const Seconds network = usual_collective().launch + between_nodes(own) - latency;
    return latency + std::max(node, network);
  };
  Seconds time =
      overlapped([&](Bytes bytes) { return ring_time(op_, nodes_, bytes, alpha_, bandwidth_); });
  if (op_ == CollectiveOp::all_reduce)
    time = std::min(time, overlapped([&](Bytes bytes) {
                      return tree_all_reduce_time(nodes_, bytes, alpha_, bandwidth_);
                    }));
  return {time, {}, {}, Provenance::datasheet};
}

const FitError& ClusterCollective::error() const {
  static const FitError usual = usual_collective().error;
  return nodes_ == 1 ? in_node_->error() : usual;
}

}  // namespace tokenline::hw
