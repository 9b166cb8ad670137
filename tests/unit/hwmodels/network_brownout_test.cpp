// Cables between nodes that carry less than they could.
#include <catch2/catch.hpp>

#include "hwmodels/network/brownout.hpp"
#include "hwmodels/network/cluster_collective.hpp"
#include "hwmodels/network/transfer.hpp"
#include "tests/unit/hwmodels/network_builders.hpp"

using namespace tokenline;
using namespace tokenline::hw;
using models::CollectiveOp;

namespace {

/// round_design() whose NICs have `factor` of their bandwidth by design.
ClusterDesign slower(double factor) {
  ClusterDesign design = round_design();
  design.fabric->nic.forward *= factor;
  design.fabric->nic.backward *= factor;
  return design;
}

std::vector<std::vector<Vertex>> one_rank_of_each_node(std::int64_t index) {
  return {{gpu_at(0, index), gpu_at(1, index)}};
}

Seconds priced(const Network& network, CollectiveOp op, std::int64_t index) {
  const Gpu gpu;
  return ClusterCollective(gpu, network, op, one_rank_of_each_node(index))(Bytes(1e6)).time;
}

}  // namespace

TEST_CASE("over NICs in a brown-out a collective takes what it takes over NICs that are so slow") {
  const Network usual(round_design());
  const Network slow(slower(0.3));
  const std::vector<Brownout> all{{.bandwidth_factor = 0.3}};
  const std::vector<Brownout> one{{.node = 1, .nic = 2, .bandwidth_factor = 0.3}};
  const Network all_brown(round_design(), all);
  const Network one_brown(round_design(), one);
  for (const CollectiveOp op :
       {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
        CollectiveOp::all_to_all, CollectiveOp::send_recv}) {
    CHECK(priced(all_brown, op, 2).value() == priced(slow, op, 2).value());
    // The slowest of its links holds up all of it; others are as fast as ever.
    CHECK(priced(one_brown, op, 2).value() == priced(slow, op, 2).value());
    CHECK(priced(one_brown, op, 1).value() == priced(usual, op, 1).value());
    CHECK(priced(slow, op, 2) > priced(usual, op, 2));
  }
}

TEST_CASE("a brown-out leaves latencies, routes and links inside nodes as they are") {
  const std::vector<Brownout> all{{.bandwidth_factor = 0.1}};
  const Network usual(round_design(4));
  const Network brown(round_design(4), all);
  for (const auto& [from, to] :
       {std::pair(gpu_at(0, 0), gpu_at(0, 3)), std::pair(gpu_at(0, 1), gpu_at(1, 1)),
        std::pair(gpu_at(0, 1), gpu_at(3, 2)), std::pair(memory_at(0), gpu_at(0, 2))}) {
    const Path a = usual.route(from, to);
    const Path b = brown.route(from, to);
    CHECK(a.links == b.links);
    CHECK(a.latency == b.latency);
    const double factor = from.node == to.node ? 1.0 : 0.1;
    CHECK(b.bandwidth.value() == Approx(factor * a.bandwidth.value()));
  }
}

TEST_CASE("factors of one cable multiply, in both directions and in what these share") {
  InterFabric fabric = round_fabric();
  fabric.nic.both_ways = BytesPerSecond(15.0);
  const Topology topology = build_topology(round_design(2, fabric));
  const std::vector<Brownout> two{{.node = 0, .bandwidth_factor = 0.5},
                                  {.node = 0, .nic = 1, .bandwidth_factor = 0.4}};
  const auto left = capacities(topology, two);
  REQUIRE(left.size() == topology.capacities.size());
  const auto share = [&](const Brownout& which) {
    std::vector<double> shares;
    for (const CapacityId id : affected(topology, which))
      shares.push_back(left[id] / topology.capacities[id]);
    return shares;
  };
  // Two directions and their shared limit.
  CHECK(share({.node = 0, .nic = 1}) == std::vector<double>{0.2, 0.2, 0.2});
  CHECK(share({.node = 0, .nic = 0}) == std::vector<double>{0.5, 0.5, 0.5});
  CHECK(share({.node = 1, .nic = 1}) == std::vector<double>{1.0, 1.0, 1.0});
}

TEST_CASE("the spine is the cables of all leaf switches to it") {
  const Topology one_leaf_group = build_topology(round_design(2, shared_nic_fabric()));
  const Topology two = build_topology(round_design(4, shared_nic_fabric()));
  const Brownout spine{.link = FabricLink::spine, .bandwidth_factor = 0.5};
  CHECK(affected(one_leaf_group, spine).empty());
  CHECK(affected(two, spine).size() == 4);
  CHECK(name(spine) == "spine");
  CHECK(name(Brownout{}) == "all nics");
  CHECK(name(Brownout{.node = 1, .nic = 2}) == "nic 2 of node 1");
}
