#include <catch2/catch.hpp>

#include "hwmodels/network/network.hpp"
#include "sim/base/check.hpp"
#include "tests/unit/hwmodels/network_builders.hpp"

using namespace tokenline;
using namespace tokenline::hw;

namespace {

using enum VertexKind;

bool passes(const Network& network, const Path& path, const Vertex& vertex) {
  const Topology& topology = network.topology();
  return std::ranges::any_of(path.links, [&](CapacityId link) {
    return topology.vertices[topology.links[link].to] == vertex;
  });
}

}  // namespace

TEST_CASE("GPUs of a node meet at the NVSwitch", "[network]") {
  const Network network(round_design());
  const Path path = network.route(gpu_at(1, 0), gpu_at(1, 3));
  CHECK(kinds(network, path) == std::vector{gpu, nvswitch, gpu});
  CHECK(path.latency.value() == 1.0);
  CHECK(path.bandwidth.value() == 400.0);
  CHECK(path.message.value() == 0.5);
}

TEST_CASE("without an NVSwitch GPUs meet at their PCIe switch, or at the root complex",
          "[network]") {
  ClusterDesign design = round_design(1);
  design.node.nvlink.reset();
  design.fabric.reset();
  const Network network(design);
  CHECK(kinds(network, network.route(gpu_at(0, 0), gpu_at(0, 1))) ==
        std::vector{gpu, pcie_switch, gpu});
  const Path far = network.route(gpu_at(0, 0), gpu_at(0, 2));
  CHECK(kinds(network, far) == std::vector{gpu, pcie_switch, root_complex, pcie_switch, gpu});
  CHECK(far.latency.value() == 4.0);
}

TEST_CASE("between nodes a GPU uses its own NIC and the leaf of its rail", "[network]") {
  const Network network(round_design());
  const Path path = network.route(gpu_at(0, 2), gpu_at(1, 2));
  CHECK(kinds(network, path) ==
        std::vector{gpu, pcie_switch, nic, leaf_switch, nic, pcie_switch, gpu});
  CHECK(passes(network, path, {nic, 0, 2}));
  CHECK(passes(network, path, {leaf_switch, -1, 2}));
  CHECK(passes(network, path, {nic, 1, 2}));
  CHECK(path.latency.value() == 1.0 + 3.0 + 3.0 + 1.0);
  CHECK(path.bandwidth.value() == 10.0);
  CHECK(path.message.value() == 2.0);
}

TEST_CASE("a flow changes rails by the spine or by the NVSwitch, as the fabric says", "[network]") {
  const Network by_spine(round_design());
  const Path spine = by_spine.route(gpu_at(0, 0), gpu_at(1, 3));
  CHECK(kinds(by_spine, spine) == std::vector{gpu, pcie_switch, nic, leaf_switch, spine_switch,
                                              leaf_switch, nic, pcie_switch, gpu});
  CHECK(passes(by_spine, spine, {nic, 0, 0}));
  CHECK(passes(by_spine, spine, {nic, 1, 3}));
  InterFabric fabric = round_fabric();
  fabric.cross_rail = CrossRail::nvswitch;
  const Network by_nvswitch(round_design(2, fabric));
  const Path rail = by_nvswitch.route(gpu_at(0, 0), gpu_at(1, 3));
  CHECK(kinds(by_nvswitch, rail) ==
        std::vector{gpu, nvswitch, gpu, pcie_switch, nic, leaf_switch, nic, pcie_switch, gpu});
  CHECK(passes(by_nvswitch, rail, gpu_at(0, 3)));
  CHECK(passes(by_nvswitch, rail, {nic, 0, 3}));
}

TEST_CASE("nodes of different leaves meet at the spine", "[network]") {
  InterFabric fabric = round_fabric();
  fabric.cross_rail = CrossRail::nvswitch;
  const Network network(round_design(4, fabric));
  const Path near = network.route(gpu_at(0, 1), gpu_at(1, 1));
  const Path far = network.route(gpu_at(0, 1), gpu_at(2, 1));
  CHECK_FALSE(passes(network, near, {spine_switch, -1, 0}));
  CHECK(passes(network, far, {spine_switch, -1, 0}));
  CHECK(far.latency.value() == near.latency.value() + 0.5);
}

TEST_CASE("one NIC per node hangs on the root complex and serves all GPUs", "[network]") {
  const Network network(round_design(2, shared_nic_fabric()));
  const Path a = network.route(gpu_at(0, 0), gpu_at(1, 0));
  const Path b = network.route(gpu_at(0, 3), gpu_at(1, 1));
  CHECK(kinds(network, a) == std::vector{gpu, pcie_switch, root_complex, nic, leaf_switch, nic,
                                         root_complex, pcie_switch, gpu});
  CHECK(passes(network, a, {nic, 0, 0}));
  CHECK(passes(network, b, {nic, 0, 0}));
}

TEST_CASE("host memory and drives are reached through the PCIe switch and the root complex",
          "[network]") {
  const Network network(round_design());
  const Path memory = network.route(memory_at(0), gpu_at(0, 1));
  CHECK(kinds(network, memory) == std::vector{host_memory, root_complex, pcie_switch, gpu});
  CHECK(memory.bandwidth.value() == 100.0);
  CHECK(network.route(nvme_at(0), gpu_at(0, 1)).bandwidth.value() == 20.0);
  CHECK(network.route(gpu_at(0, 1), nvme_at(0)).bandwidth.value() == 5.0);
  CHECK(network.route(nvme_at(1), memory_at(1)).latency.value() == 4.0);
}

TEST_CASE("memory of another node is reached by the NIC of the GPU at the other end", "[network]") {
  const Network network(round_design());
  const Path path = network.route(memory_at(0), gpu_at(1, 3));
  CHECK(passes(network, path, {nic, 0, 3}));
  CHECK(passes(network, path, {nic, 1, 3}));
  CHECK(passes(network, network.route(memory_at(0), memory_at(1)), {nic, 0, 0}));
}

TEST_CASE("a flow competes for a limit that both directions of a cable share", "[network]") {
  const Network network(round_design());
  const Path to = network.route(memory_at(0), gpu_at(0, 0));
  const Path from = network.route(gpu_at(0, 1), memory_at(0));
  std::vector<CapacityId> common;
  std::ranges::set_intersection(to.uses, from.uses, std::back_inserter(common));
  REQUIRE(common.size() == 1);
  CHECK(network.capacities()[common.front()].value() == 150.0);
  CHECK(to.uses.size() == to.links.size() + 1);
}

TEST_CASE("there and back take equally long on equal cables, whatever the ends", "[network]") {
  const Network network(round_design(3));
  for (std::int64_t a = 0; a < 4; ++a) {
    for (std::int64_t b = 0; b < 4; ++b) {
      const Path there = network.route(gpu_at(0, a), gpu_at(2, b));
      const Path back = network.route(gpu_at(2, b), gpu_at(0, a));
      CHECK(there.latency == back.latency);
      CHECK(there.links.size() == back.links.size());
      CHECK(there.links == network.route(gpu_at(0, a), gpu_at(2, b)).links);
    }
  }
}

TEST_CASE("the spine of an oversubscribed fabric has less bandwidth than the NICs of a leaf",
          "[network]") {
  InterFabric fabric = round_fabric();
  fabric.oversubscription = 4.0;
  const Network network(round_design(4, fabric));
  // Two nodes per leaf of a rail: 2 NICs · 10 B/s / 4.
  CHECK(network.route(gpu_at(0, 0), gpu_at(2, 0)).bandwidth.value() == 5.0);
  CHECK(network.route(gpu_at(0, 0), gpu_at(1, 0)).bandwidth.value() == 10.0);
}

TEST_CASE("what cannot be routed is our bug", "[network]") {
  const Network network(round_design());
  CHECK_THROWS_AS(network.route(gpu_at(0, 0), gpu_at(0, 0)), InternalError);
  CHECK_THROWS_AS(network.route(gpu_at(0, 0), gpu_at(5, 0)), InternalError);
  CHECK_THROWS_AS(network.route(gpu_at(0, 0), {nvswitch, 0, 0}), InternalError);
}

TEST_CASE("nodes without a fabric, and rails changed by a missing NVSwitch, are refused",
          "[network]") {
  ClusterDesign design = round_design();
  CHECK(first_refusal(design).empty());
  design.node.nvlink.reset();
  CHECK(first_refusal(design).empty());
  InterFabric fabric = round_fabric();
  fabric.cross_rail = CrossRail::nvswitch;
  design.fabric = fabric;
  CHECK_THAT(first_refusal(design), Catch::Contains("lacks"));
  design.fabric.reset();
  CHECK_THAT(first_refusal(design), Catch::Contains("need a fabric"));
}
