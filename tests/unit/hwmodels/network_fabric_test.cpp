#include <catch2/catch.hpp>
#include <functional>

#include "hwmodels/network/fabric.hpp"
#include "hwmodels/network/network.hpp"
#include "sim/config/reader.hpp"
#include "tests/support/scratch.hpp"

using namespace tokenline;
using namespace tokenline::hw;
using Catch::Contains;

namespace {

constexpr std::string_view node_text = R"(description: two cards
gpus: 2
pcie: {bandwidth: 64 GB/s, efficiency: 0.5, both_ways: 40 GB/s, latency: 1 us}
gpus_per_switch: 2
host_memory: {bandwidth: 100 GB/s, latency: 0.1 us}
nvme: {bandwidth: 8 GB/s, efficiency_back: 0.5, latency: 80 us}
message: 0.5 us
)";

constexpr std::string_view fabric_text = R"(description: rails
nics: per_gpu
nic: {bandwidth: 50 GB/s, latency: 1 us}
rails: true
cross_rail: nvswitch
nodes_per_leaf: 4
oversubscription: 1
spine_latency: 0.2 us
message: 0.5 us
collectives: {step: 2 us, efficiency: 0.9}
)";

std::string with(std::string_view text, std::string_view from, std::string_view to) {
  std::string changed(text);
  const std::size_t at = changed.find(from);
  REQUIRE(at != std::string::npos);
  return changed.replace(at, from.size(), to);
}

std::string mistakes(const std::function<void()>& read) {
  try {
    read();
  } catch (const config::ConfigError& e) {
    return e.what();
  }
  return {};
}

ClusterDesign read_design(const std::string& yaml, const std::string& file = "cluster.yaml") {
  config::Document document(config::parse_yaml(file, yaml));
  config::Reader reader(document);
  ClusterDesign design = read_cluster_design(reader);
  reader.finish();
  document.throw_if_errors();
  return design;
}

}  // namespace

TEST_CASE("a cable carries its line rate times its efficiency, each way its own", "[network]") {
  const NodeFabric node = parse_node_fabric("some/two_cards.yaml", node_text);
  CHECK(node.name == "two_cards");
  CHECK(node.pcie.forward.value() == 32e9);
  CHECK(node.pcie.backward.value() == 32e9);
  CHECK(node.pcie.both_ways.value() == 40e9);
  CHECK(node.memory.both_ways.value() == 0.0);
  CHECK(node.nvme.forward.value() == 8e9);
  CHECK(node.nvme.backward.value() == 4e9);
  CHECK_FALSE(node.nvlink);
}

TEST_CASE("every preset is read, described, and makes a cluster whose ends all reach one another",
          "[network]") {
  for (const std::string& node : node_fabric_names()) {
    for (const std::string& fabric : inter_fabric_names()) {
      ClusterDesign design;
      design.nodes = 3;
      design.node = load_node_fabric(node);
      design.gpus_per_node = design.node.gpus;
      design.fabric = load_inter_fabric(fabric);
      CHECK(design.node.name == node);
      CHECK(design.between_nodes().name == fabric);
      CHECK_FALSE((design.node.description.empty() || design.between_nodes().description.empty()));
      if (!first_refusal(design).empty()) continue;
      const Network network(design);
      for (const Vertex& to : {gpu_at(0, design.gpus_per_node - 1), gpu_at(2, 0), memory_at(0),
                               memory_at(1), nvme_at(0)}) {
        if (to == gpu_at(0, 0)) continue;
        const Path path = network.route(gpu_at(0, 0), to);
        CHECK(path.bandwidth.value() > 1e8);
        CHECK(path.latency.value() > 1e-7);
        CHECK(path.latency.value() < 1e-3);
      }
    }
  }
}

TEST_CASE("presets have the names that the README lists", "[network]") {
  CHECK(node_fabric_names() ==
        std::vector<std::string>{"gh200", "hgx_a100", "hgx_h100", "pcie_gen4", "pcie_gen5"});
  CHECK(inter_fabric_names() == std::vector<std::string>{"ethernet_100g", "ethernet_100g_untuned",
                                                         "ethernet_25g", "infiniband_ndr",
                                                         "roce_100g", "roce_400g"});
}

TEST_CASE("every mistake of a preset is reported at its line", "[network]") {
  std::string text = with(node_text, "64 GB/s", "64");
  text = with(text, "gpus_per_switch: 2", "gpus_per_switch: 0");
  text = with(text, "message", "mesage");
  const std::string report = mistakes([&] { (void)parse_node_fabric("bad.yaml", text); });
  CHECK_THAT(report, Contains("bad.yaml:3:") && Contains("pcie.bandwidth"));
  CHECK_THAT(report, Contains("bad.yaml:4:") && Contains("gpus_per_switch"));
  CHECK_THAT(report, Contains("bad.yaml:7:") && Contains("did you mean 'message'?"));
  CHECK_THAT(report, Contains("'message'"));
}

TEST_CASE("an efficiency above 1 and an oversubscription below are refused", "[network]") {
  const auto report = [](const std::string& text) {
    return mistakes([&] { (void)parse_inter_fabric("bad.yaml", text); });
  };
  CHECK_THAT(report(with(fabric_text, "efficiency: 0.9", "efficiency: 1.1")),
             Contains("bad.yaml:10:"));
  CHECK_THAT(report(with(fabric_text, "oversubscription: 1", "oversubscription: 0.5")),
             Contains("bad.yaml:7:"));
}

TEST_CASE("rates and delays that no link has are refused", "[network]") {
  const auto report = [](const std::string& text) {
    return mistakes([&] { (void)parse_inter_fabric("bad.yaml", text); });
  };
  CHECK_THAT(report(with(fabric_text, "50 GB/s", "1 B/s")),
             Contains("bad.yaml:3:") && Contains("nic.bandwidth"));
  CHECK_THAT(report(with(fabric_text, "latency: 1 us", "latency: 3 h")),
             Contains("bad.yaml:3:") && Contains("nic.latency"));
  CHECK_THAT(report(with(fabric_text, "latency: 1 us", "latency: 1 us, both_ways: 1 B/s")),
             Contains("nic.both_ways: is below 1 MB/s"));
  CHECK_THAT(report(with(fabric_text, "oversubscription: 1", "oversubscription: 1000")),
             Contains("oversubscription"));
}

TEST_CASE("rails need a NIC per GPU, and a way to change them", "[network]") {
  const auto report = [](const std::string& text) {
    return mistakes([&] { (void)parse_inter_fabric("bad.yaml", text); });
  };
  CHECK_THAT(report(with(fabric_text, "per_gpu", "per_node")),
             Contains("bad.yaml:4:") && Contains("rails need a NIC per GPU"));
  CHECK_THAT(report(with(fabric_text, "cross_rail: nvswitch\n", "")), Contains("cross_rail"));
}

TEST_CASE("a cluster has the usual GPUs per node, or those that are asked for", "[network]") {
  CHECK(read_design("node: hgx_h100").gpus_per_node == 8);
  CHECK(read_design("node: hgx_h100").nodes == 1);
  CHECK(read_design("node: hgx_h100\ngpus_per_node: 4").gpus_per_node == 4);
}

TEST_CASE("what makes no cluster is reported where it is written", "[network]") {
  const auto report = [](const std::string& text) {
    return mistakes([&] { (void)read_design(text); });
  };
  CHECK_THAT(report("node: hgx_h10"),
             Contains("cluster.yaml:1:7") && Contains("did you mean 'hgx_h100'?"));
  CHECK_THAT(report("node: hgx_h100\nnodes: 2"), Contains("need a fabric"));
  CHECK_THAT(report("node: hgx_h100\nnodes: 2\nfabric: roce_40g"),
             Contains("cluster.yaml:3:9") && Contains("did you mean 'roce_400g'?"));
  CHECK_THAT(report("node: pcie_gen5\nnodes: 2\nfabric: roce_400g"),
             Contains("cluster.yaml:3:9") && Contains("NVSwitch"));
  CHECK_THAT(report("nodes: 0\nnode: 5"), Contains("cluster.yaml:1:8"));
  CHECK_THAT(report("node: no/such.yaml"), Contains("cluster.yaml:1:7"));
}

TEST_CASE("a cluster's own fabric is a file beside it, whose mistakes are at their own line",
          "[network]") {
  const Scratch folder;
  const std::string cluster = folder / "cluster.yaml";
  (void)folder.write("wide.yaml", fabric_text);
  const std::string keys = "node: hgx_h100\nnodes: 2\nfabric: ./wide.yaml";
  CHECK(read_design(keys, cluster).between_nodes().nic.forward.value() == 50e9);
  (void)folder.write("wide.yaml", with(fabric_text, "50 GB/s", "50 GB"));
  CHECK_THAT(mistakes([&] { (void)read_design(keys, cluster); }), Contains("wide.yaml:3:"));
}
