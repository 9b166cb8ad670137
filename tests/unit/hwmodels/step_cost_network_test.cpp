// Steps of replicas that span nodes.
#include <catch2/catch.hpp>

#include "hwmodels/network/placement.hpp"
#include "hwmodels/replica_cost.hpp"
#include "hwmodels/usual_fits.hpp"
#include "tests/unit/hwmodels/network_builders.hpp"

using namespace tokenline;
using namespace tokenline::hw;

namespace {

constexpr std::int64_t tokens = 4096;

/// Nodes of eight H100, each with one NIC of `rate` bytes per second or one per GPU.
ClusterDesign h100_nodes(std::int64_t nodes, double rate, bool nic_per_gpu = false) {
  ClusterDesign design;
  design.nodes = nodes;
  design.gpus_per_node = 8;
  design.node = load_node_fabric("hgx_h100");
  InterFabric fabric = shared_nic_fabric();
  fabric.nic_per_gpu = nic_per_gpu;
  fabric.nic = cable(rate, 1e-6);
  fabric.nodes_per_leaf = nodes;
  fabric.collective_step = Seconds();
  fabric.collective_efficiency = 1.0;
  design.fabric = fabric;
  return design;
}

StepSetup setup(const std::string& model, const models::Parallelism& parallelism) {
  StepSetup setup;
  setup.model = models::load_model(model);
  setup.gpu = load_gpu("h100_sxm");
  setup.parallelism = parallelism;
  setup.prefill_kernel = PrefillKernel::fa3;
  setup.max_tokens = tokens * parallelism.data;
  setup.max_sequences = 64 * parallelism.data;
  return setup;
}

StepSetup on(const ClusterDesign& design, StepSetup setup) {
  setup.network = std::make_shared<const Network>(design);
  const std::vector<std::int64_t> replica{setup.parallelism.gpus()};
  setup.gpus = place(replica, design.gpus_per_node).front();
  return setup;
}

/// A prompt of `tokens` on each attention group.
double prefill(const StepSetup& setup, std::int64_t stage = 0) {
  const std::vector<Chunk> chunks(static_cast<std::size_t>(setup.parallelism.data), {tokens, 0});
  return StepCost(setup, stage)
      .price({.chunks = chunks, .sampled = setup.parallelism.data})
      .time.value();
}

/// How much longer a step takes when the NIC has half of `rate`.
double with_half(const StepSetup& setup, double rate, std::int64_t stage = 0) {
  return prefill(on(h100_nodes(2, 0.5 * rate), setup), stage) -
         prefill(on(h100_nodes(2, rate), setup), stage);
}

}  // namespace

TEST_CASE("in one node a replica costs with a network what it costs without", "[network]") {
  const ClusterDesign design = h100_nodes(2, 1e9);
  for (const StepSetup& s : {setup("llama-3.1-70b", {8}), setup("llama-3.1-70b", {2, 1, 1, 4}),
                             setup("deepseek-v3", {1, 8, 8})})
    for (std::int64_t stage = 0; stage < s.parallelism.pipeline; ++stage)
      CHECK(prefill(on(design, s), stage) == prefill(s, stage));
}

TEST_CASE(
    "tensor parallelism over nodes passes 2 (N - 1) / N of each activation per node and layer",
    "[network]") {
  // Two all-reduces per layer of tokens · hidden · 2 bytes, over N = 2 nodes of one NIC.
  const double rate = 2e9;
  const StepSetup s = setup("llama-3.1-405b", {16});
  const double payload = static_cast<double>(tokens * s.model.hidden_size * 2);
  const double bytes = static_cast<double>(2 * s.model.layers) * payload;
  CHECK(with_half(s, rate) == Approx(bytes / rate));
  // With a NIC per GPU each carries an eighth.
  const auto own_nics = [&](double nic) { return prefill(on(h100_nodes(2, nic, true), s)); };
  CHECK(own_nics(0.5e9) - own_nics(1e9) == Approx(bytes / 8.0 / 1e9));
}

TEST_CASE("over a fast network tensor parallelism over nodes halves the products of a GPU",
          "[network]") {
  const StepSetup one = setup("llama-3.1-405b", {8});
  const StepSetup two = setup("llama-3.1-405b", {16});
  const StepCost over(on(h100_nodes(2, 1e15, true), two));
  // Not quite: sixteen ranks hold the eight KV heads twice, 1 % of the weights.
  CHECK(2.0 * over.weights().value() == Approx(StepCost(one).weights().value()).epsilon(0.02));
  const auto flops = [](const StepCost& cost) {
    const Chunk chunk{tokens, 0};
    return cost.price({.chunks = {&chunk, 1}, .sampled = 1}).flops.value();
  };
  CHECK(2.0 * flops(over) == Approx(flops(StepCost(one))).epsilon(0.02));
}

TEST_CASE("a stage on another node receives hidden state and residual over the NIC", "[network]") {
  const double rate = 2e9;
  const StepSetup s = setup("llama-3.1-405b", {8, 1, 1, 2});
  const double bytes = static_cast<double>(2 * tokens * s.model.hidden_size * 2);
  CHECK(with_half(s, rate, 1) == Approx(bytes / rate));
  // What the first stage does stays in its node.
  CHECK(with_half(s, rate, 0) == 0.0);
  ClusterDesign wide = h100_nodes(1, rate);
  wide.gpus_per_node = 16;
  CHECK(prefill(on(h100_nodes(2, rate), s), 0) == prefill(on(wide, s), 0));
}

TEST_CASE("between two nodes in the middle of four, stages of two nodes each send rank by rank",
          "[network]") {
  const double rate = 2e9;
  const StepSetup s = setup("llama-3.1-405b", {16, 1, 1, 2});
  const auto time = [&](double nic) { return prefill(on(h100_nodes(4, nic), s), 1); };
  // A node of 8 of the 16 ranks receives half of the state, then gathers the half of the other.
  const double state = static_cast<double>(2 * tokens * s.model.hidden_size * 2);
  const double reduced = static_cast<double>(s.model.layers / 2 * 2) *
                         static_cast<double>(tokens * s.model.hidden_size * 2);
  CHECK(time(0.5 * rate) - time(rate) == Approx((0.5 * state + 0.5 * state + reduced) / rate));
}

TEST_CASE("attention groups over nodes gather and scatter their tokens over one NIC at once",
          "[network]") {
  const double rate = 2e9;
  const StepSetup s = setup("deepseek-v3", {8, 2, 16});
  const models::Architecture& model = s.model;
  // Each of the eight tensor ranks passes its group's tokens once for the experts and once back.
  const auto moe_layers = static_cast<double>(model.layers - model.moe->dense_layers);
  const double bytes = 2.0 * moe_layers * 8.0 * static_cast<double>(tokens * model.hidden_size * 2);
  CHECK(with_half(s, rate) == Approx(bytes / rate));
}

TEST_CASE("ranks that do not lie evenly on nodes are refused", "[network]") {
  ClusterDesign design = h100_nodes(3, 1e9);
  design.gpus_per_node = 6;
  CHECK_THAT(StepCost::first_refusal(on(design, setup("llama-3.1-405b", {8}))),
             Catch::Contains("8 ranks are not spread evenly over 2 nodes"));
  design.gpus_per_node = 3;
  CHECK_THAT(StepCost::first_refusal(on(design, setup("llama-3.1-405b", {2, 1, 1, 3}))),
             Catch::Contains("do not lie on nodes in the same way"));
}
