// Replicas on the nodes of cluster.network.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "sim/engine/run.hpp"

using namespace tokenline;

namespace {

Scenario on_network(const std::string& cluster, const std::string& model = "llama-3.1-8b") {
  return parse_scenario("s.yaml", fmt::format(R"(scenario: s
model: {}
cluster: {{gpu: h100_sxm, {}}}
engine: {{max_model_len: 4096}}
traffic:
  chat: {{arrival: {{process: poisson, rate: 9/s}}, num_prompts: 20, prompt_tokens: 200,
         output_tokens: 20}}
)",
                                              model, cluster));
}

std::string cluster_mistakes(const std::string& cluster) {
  try {
    (void)on_network(cluster);
  } catch (const config::ConfigError& e) {
    return e.what();
  }
  return {};
}

}  // namespace

TEST_CASE("replicas lie on the nodes of the network, as many as they take", "[network][scenario]") {
  const ClusterConfig cluster =
      on_network(
          "replicas: 3, tensor_parallel_size: 4, network: {node: hgx_h100, fabric: roce_400g}")
          .cluster;
  REQUIRE(cluster.network);
  CHECK(cluster.network->design().nodes == 2);
  CHECK(cluster.network->design().gpus_per_node == 8);
  REQUIRE(cluster.gpus.size() == 3);
  CHECK(cluster.gpus[1].front() == hw::gpu_at(0, 4));
  CHECK(cluster.gpus[2].front() == hw::gpu_at(1, 0));
}

TEST_CASE("without the key there is no network", "[network][scenario]") {
  const ClusterConfig cluster = on_network("replicas: 3").cluster;
  CHECK_FALSE(cluster.network);
  CHECK(cluster.gpus.empty());
}

TEST_CASE("mistakes in the network stand at their keys", "[network][scenario]") {
  CHECK_THAT(cluster_mistakes("replicas: 9, network: {node: hgx_h100, nodes: 1}"),
             Catch::Contains("3:72: error: cluster.network.nodes: the replicas take 2 nodes of 8 "
                             "GPUs, more than 1"));
  CHECK_THAT(cluster_mistakes("replicas: 9, network: {node: hgx_h100}"),
             Catch::Contains("cluster.network.fabric: 2 nodes need a fabric that connects them"));
  CHECK_THAT(cluster_mistakes("network: {node: hgx_h1000}"),
             Catch::Contains("cluster.network.node") && Catch::Contains("hgx_h100"));
  CHECK_THAT(cluster_mistakes("replicas: 0, network: {node: hgx_h100}"),
             !Catch::Contains("cluster.network"));
}

TEST_CASE("a node with an NVSwitch holds no GPUs without NVLink", "[network][scenario]") {
  const auto on = [](const std::string& gpu, const std::string& node) {
    const std::string text = fmt::format(
        "scenario: s\nmodel: llama-3.1-8b\ncluster: {{gpu: {}, replicas: 2, network: {{node: "
        "{}}}}}\nengine: {{max_model_len: 512}}\ntraffic:\n  chat: {{arrival: {{process: poisson, "
        "rate: 9/s}}, num_prompts: 2, prompt_tokens: 200, output_tokens: 20}}\n",
        gpu, node);
    return parse_scenario("s.yaml", text).cluster.gpus.size();
  };
  CHECK_THROWS_WITH(on("l4", "hgx_h100"),
                    Catch::Contains("s.yaml:3:16: error: cluster.gpu: l4 reaches others in its "
                                    "node at 32 GB/s; node 'hgx_h100'") &&
                        Catch::Contains("378 GB/s") &&
                        Catch::Contains("hint: cluster.network.node: pcie_gen5"));
  CHECK_THROWS_WITH(on("h100_pcie", "hgx_a100"), Catch::Contains("cluster.gpu"));
  CHECK(on("l4", "pcie_gen4") == 2);
  // Other generations of NVLink are a choice.
  CHECK(on("a100_sxm_80gb", "hgx_h100") == 2);
  CHECK(on("b200", "hgx_h100") == 2);
}

TEST_CASE("a replica over two nodes runs as tensor ranks and as stages", "[network][scenario]") {
  const std::string network = ", network: {node: hgx_h100, fabric: infiniband_ndr}";
  for (const std::string degrees :
       {"tensor_parallel_size: 16", "tensor_parallel_size: 8, pipeline_parallel_size: 2"}) {
    INFO(degrees);
    Scenario s = on_network(degrees + network, "llama-3.1-405b");
    CHECK(s.cluster.network->design().nodes == 2);
    const RunResult result = run(s);
    CHECK(result.audit.passed);
    CHECK(result.log.records.size() == 20);
  }
}

TEST_CASE("a replica over nodes without a network is told to name one", "[network][scenario]") {
  CHECK_THAT(cluster_mistakes("tensor_parallel_size: 16"),
             Catch::Contains("cluster.tensor_parallel_size: a replica of 16 GPUs spans nodes of 8, "
                             "and no network connects them") &&
                 Catch::Contains("cluster.network: {node: hgx_h100, fabric: infiniband_ndr}"));
  CHECK_THAT(cluster_mistakes("tensor_parallel_size: 8, pipeline_parallel_size: 2"),
             Catch::Contains("cluster.pipeline_parallel_size: a replica of 16 GPUs"));
}

TEST_CASE("a network smaller than usual bounds the nodes of a replica", "[network][scenario]") {
  // On nodes of two GPUs four ranks need a fabric, which they then pass.
  const auto decode = [](const std::string& gpus_per_node) {
    const Scenario s = on_network("tensor_parallel_size: 4, network: {node: hgx_h100, " +
                                  gpus_per_node + "fabric: infiniband_ndr}");
    return s.cost->price({.decode_sequences = 1, .decode_context = 100, .chunks = {}, .sampled = 1})
        .time;
  };
  CHECK(decode("gpus_per_node: 2, ") > decode(""));
}

TEST_CASE("context ranks give a replica the KV pool of all of them", "[network][context]") {
  const Scenario one = on_network("tensor_parallel_size: 2");
  const Scenario two = on_network("tensor_parallel_size: 2, context_parallel_size: 2");
  CHECK(two.memory.block.value() == 0.5 * one.memory.block.value());
  CHECK(two.memory.weights == one.memory.weights);
  // Twice the blocks and a few for the activations that are divided.
  CHECK(two.memory.blocks >= 2 * one.memory.blocks);
  CHECK(10 * two.memory.blocks < 21 * one.memory.blocks);
}

TEST_CASE("a replica of context ranks serves a mixture of prompts and decodes",
          "[network][context]") {
  Scenario s = on_network(
      "tensor_parallel_size: 2, context_parallel_size: 4, "
      "pipeline_parallel_size: 2, network: {node: hgx_h100, fabric: roce_400g}");
  CHECK(s.cluster.network->design().nodes == 2);
  const RunResult result = run(s);
  CHECK(result.audit.passed);
  CHECK(result.log.records.size() == 20);
}

TEST_CASE("context parallelism of models without a ring is refused at its key",
          "[network][context]") {
  try {
    (void)on_network("tensor_parallel_size: 8, context_parallel_size: 2", "mixtral-8x7b");
    FAIL("accepted");
  } catch (const config::ConfigError& e) {
    CHECK_THAT(e.what(), Catch::Contains("error: cluster.context_parallel_size: 2: a ring is "
                                         "modelled for dense models with full attention"));
  }
}
