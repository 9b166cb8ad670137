// Replicas on the nodes of cluster.network.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "sim/engine/scenario.hpp"

using namespace tokenline;

namespace {

Scenario scenario(const std::string& cluster) {
  return parse_scenario("s.yaml", fmt::format(R"(scenario: s
model: llama-3.1-8b
cluster: {{gpu: h100_sxm, {}}}
engine: {{max_model_len: 4096}}
traffic:
  chat: {{arrival: {{process: poisson, rate: 9/s}}, num_prompts: 20, prompt_tokens: 200,
         output_tokens: 20}}
)",
                                              cluster));
}

std::string mistakes(const std::string& cluster) {
  try {
    (void)scenario(cluster);
  } catch (const config::ConfigError& e) {
    return e.what();
  }
  return {};
}

}  // namespace

TEST_CASE("replicas lie on the nodes of the network, as many as they take", "[network][scenario]") {
  const ClusterConfig cluster =
      scenario("replicas: 3, tensor_parallel_size: 4, network: {node: hgx_h100, fabric: roce_400g}")
          .cluster;
  REQUIRE(cluster.network);
  CHECK(cluster.network->design().nodes == 2);
  CHECK(cluster.network->design().gpus_per_node == 8);
  REQUIRE(cluster.gpus.size() == 3);
  CHECK(cluster.gpus[1].front() == hw::gpu_at(0, 4));
  CHECK(cluster.gpus[2].front() == hw::gpu_at(1, 0));
}

TEST_CASE("without the key there is no network", "[network][scenario]") {
  const ClusterConfig cluster = scenario("replicas: 3").cluster;
  CHECK_FALSE(cluster.network);
  CHECK(cluster.gpus.empty());
}

TEST_CASE("mistakes in the network stand at their keys", "[network][scenario]") {
  CHECK_THAT(mistakes("replicas: 9, network: {node: hgx_h100, nodes: 1}"),
             Catch::Contains("3:72: error: cluster.network.nodes: the replicas take 2 nodes of 8 "
                             "GPUs, more than 1"));
  CHECK_THAT(mistakes("replicas: 9, network: {node: hgx_h100}"),
             Catch::Contains("cluster.network.fabric: 2 nodes need a fabric that connects them"));
  CHECK_THAT(mistakes("network: {node: hgx_h1000}"),
             Catch::Contains("cluster.network.node") && Catch::Contains("hgx_h100"));
  CHECK_THAT(mistakes("replicas: 0, network: {node: hgx_h100}"),
             !Catch::Contains("cluster.network"));
}
