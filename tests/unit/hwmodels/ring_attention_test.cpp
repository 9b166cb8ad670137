// Context parallelism: ring attention in prefill, shared KV in decode.
#include "hwmodels/ring_attention.hpp"

#include <catch2/catch.hpp>

#include "hwmodels/network/placement.hpp"
#include "hwmodels/step_cost.hpp"
#include "tests/unit/hwmodels/network_builders.hpp"

using namespace tokenline;
using namespace tokenline::hw;

namespace {

constexpr std::int64_t largest = 262'144;

/// Llama-3.1-70B on nodes of eight H100, a NIC of `rate` bytes per second at each GPU.
StepSetup setup(std::int64_t tensor, std::int64_t context, double rate) {
  StepSetup setup;
  setup.model = models::load_model("llama-3.1-70b");
  setup.gpu = load_gpu("h100_sxm");
  setup.parallelism = {.tensor = tensor, .context = context};
  setup.prefill_kernel = PrefillKernel::fa3;
  setup.max_tokens = largest;
  setup.max_sequences = 16;
  ClusterDesign design;
  design.nodes = (tensor * context + 7) / 8;
  design.gpus_per_node = 8;
  design.node = load_node_fabric("hgx_h100");
  InterFabric fabric = round_fabric();
  fabric.nic = cable(rate, 1e-9);
  fabric.nodes_per_leaf = design.nodes;
  fabric.collective_step = Seconds();
  fabric.collective_efficiency = 1.0;
  design.fabric = fabric;
  setup.network = std::make_shared<const Network>(design);
  const std::vector<std::int64_t> replica{tensor * context};
  setup.gpus = place(replica, 8).front();
  return setup;
}

Price prefill(const StepCost& cost, std::int64_t tokens, std::int64_t past = 0) {
  const Chunk chunk{tokens, past};
  return cost.price({.chunks = {&chunk, 1}, .sampled = 1});
}

Price decode(const StepCost& cost, std::int64_t sequences, std::int64_t context) {
  return cost.price({.decode_sequences = sequences,
                     .decode_context = context,
                     .chunks = {},
                     .sampled = sequences});
}

/// KV of one token in one layer on one GPU, in 16 bit.
double kv_of_layer(const StepCost& cost) {
  return static_cast<double>(2 * cost.operators().kv_heads * cost.operators().head_dim * 2);
}

}  // namespace

TEST_CASE("a ring takes as many hops as ranks, and passes a block in all but the last",
          "[context]") {
  const KernelCost hop{Seconds(3.0), Flops(7.0), Bytes(5.0), Provenance::measured};
  const auto transfer = [](double time) {
    return KernelCost{Seconds(time), {}, {}, Provenance::datasheet};
  };
  const KernelCost hidden = ring_attention(hop, transfer(2.0), 4);
  CHECK(hidden.time.value() == Approx(4 * 3.0));
  CHECK(hidden.flops.value() == Approx(4 * 7.0));
  CHECK(hidden.bytes.value() == Approx(4 * 5.0));
  CHECK(hidden.provenance == Provenance::measured);
  const KernelCost shown = ring_attention(hop, transfer(5.0), 4);
  CHECK(shown.time.value() == Approx(3 * 5.0 + 3.0));
  CHECK(shown.provenance == Provenance::datasheet);
}

TEST_CASE("while its transfers are hidden a ring divides the time of prefill by its ranks",
          "[context]") {
  const StepCost alone(setup(8, 1, 1e12));
  const double one = prefill(alone, largest).time.value();
  const double flops = prefill(alone, largest).flops.value();
  const double later = prefill(alone, 65'536, largest).time.value();
  for (const std::int64_t ranks : {2, 4, 8}) {
    const StepCost cost(setup(8, ranks, 1e12));
    const auto share = static_cast<double>(ranks);
    CHECK(share * prefill(cost, largest).time.value() == Approx(one).epsilon(0.04));
    CHECK(share * prefill(cost, largest).flops.value() == Approx(flops).epsilon(0.04));
    // As well for a piece after others.
    CHECK(share * prefill(cost, 65'536, largest).time.value() == Approx(later).epsilon(0.05));
  }
}

TEST_CASE("a ring that its transfers bind takes ranks - 1 of them in each layer", "[context]") {
  const double rate = 1e8;
  const std::int64_t tokens = 16'384;
  const StepCost fast(setup(8, 4, rate));
  const StepCost slow(setup(8, 4, 0.5 * rate));
  // Tensor ranks share no NIC here. Past KV passes too.
  const double block = static_cast<double>((tokens + 32'768) / 4) * kv_of_layer(fast);
  CHECK(prefill(slow, tokens, 32'768).time.value() - prefill(fast, tokens, 32'768).time.value() ==
        Approx(80.0 * 3.0 * block / rate));
}

TEST_CASE("a ring of two ranks per node passes each boundary of nodes both ways", "[context]") {
  // Ranks 0 and 1 on the first node, 2 and 3 on the second: 1 to 2 one way, 3 to 0 the other, and
  // four tensor ranks each with a NIC of its own.
  const double rate = 1e8;
  const std::int64_t tokens = 16'384;
  const auto time = [&](double nic) {
    return prefill(StepCost(setup(4, 4, nic)), tokens).time.value();
  };
  const double block = static_cast<double>(tokens / 4) * kv_of_layer(StepCost(setup(4, 4, rate)));
  CHECK(time(0.5 * rate) - time(rate) == Approx(80.0 * 3.0 * block / rate));
}

TEST_CASE("transfers are hidden from the length on that Ring Attention's condition gives",
          "[context]") {
  // Liu et al., arXiv 2310.01889, 3: a block is long enough when its computation outlasts its
  // transfer, c > F / B tokens for 4dc² FLOP and 4cd bytes. Causal work is half of that, and a KV
  // head is passed once for its query heads: c = 2 · (kv heads / query heads) · F / B.
  const double rate = 4e9;
  const std::int64_t ranks = 4;
  const StepCost bound(setup(8, ranks, rate));
  const StepCost free(setup(8, ranks, 1e15));
  const auto shown = [&](std::int64_t tokens) {
    return prefill(bound, tokens).time.value() > 1.0001 * prefill(free, tokens).time.value();
  };
  std::int64_t low = 512;
  std::int64_t high = largest;
  REQUIRE(shown(low));
  REQUIRE_FALSE(shown(high));
  while (high - low > 64) {
    const std::int64_t middle = (low + high) / 2;
    (shown(middle) ? low : high) = middle;
  }
  // F: what the kernel reaches on a block of that length.
  const AttentionPricer pricer(bound.setup().gpu, PrefillKernel::fa3, DecodeKernel::flash_decoding,
                               {8, 1, 128}, 2);
  const KernelCost hop = pricer.prefill(high / ranks, 0);
  const double reached = 2.0 * 8.0 * 128.0 * static_cast<double>(high / ranks) *
                         static_cast<double>(high / ranks) / hop.time.value();
  const double block = 2.0 * (1.0 / 8.0) * reached / rate;
  CHECK(static_cast<double>(high) / static_cast<double>(ranks) == Approx(block).epsilon(0.02));
}

TEST_CASE("decodes read their share of KV and merge what the ranks found", "[context]") {
  const std::int64_t ranks = 4;
  const StepCost one(setup(8, 1, 50e9));
  const StepCost ring(setup(8, ranks, 50e9));
  const StepSetup& s = ring.setup();
  const std::int64_t sequences = 3;
  const auto groups = rank_groups(s.gpus, s.parallelism, 0, models::RankGroup::context);
  const ClusterCollective gather(s.gpu, *s.network, models::CollectiveOp::all_gather, groups);
  const ClusterCollective reduce(s.gpu, *s.network, models::CollectiveOp::all_reduce, groups);
  // Eight query heads per GPU: a sum in fp32 each, and 128 values in 16 bit.
  const double merges = 80.0 * (gather(Bytes(sequences * 8 * 4.0)).time.value() +
                                reduce(Bytes(sequences * 8 * 128 * 2.0)).time.value());
  CHECK(decode(ring, sequences, 400'000).time.value() ==
        Approx(decode(one, sequences, 100'000).time.value() + merges));
}

TEST_CASE("context ranks hold all weights and a share of KV", "[context]") {
  const StepCost one(setup(8, 1, 50e9));
  const StepCost ring(setup(8, 4, 50e9));
  CHECK(ring.weights() == one.weights());
  CHECK(4.0 * ring.kv_per_token().value() == one.kv_per_token().value());
  // Of 10,000 tokens at most 16 are decodes, which are not divided.
  CHECK(ring.activations(10'016, 1, 0) == one.activations(2'516, 1, 0));
  CHECK(ring.activations(10, 1, 0) == one.activations(10, 1, 0));
}

TEST_CASE("without a network a ring stays in its node", "[context]") {
  StepSetup with = setup(2, 4, 50e9);
  StepSetup without = with;
  without.network = {};
  without.gpus = {};
  CHECK(prefill(StepCost(with), 50'000).time == prefill(StepCost(without), 50'000).time);
  CHECK(decode(StepCost(with), 2, 50'000).time == decode(StepCost(without), 2, 50'000).time);
}

TEST_CASE("rings are refused where they are not modelled", "[context]") {
  const auto mistake = [](const std::string& model) {
    return models::first_sharding_mistake(models::load_model(model), {.context = 2});
  };
  CHECK(mistake("llama-3.1-70b").empty());
  CHECK_THAT(mistake("deepseek-v3"),
             Catch::StartsWith("context_parallel_size 2") && Catch::Contains("latent attention"));
  CHECK_THAT(mistake("mixtral-8x7b"), Catch::Contains("experts"));
  CHECK_THAT(mistake("gpt-oss-20b"), Catch::Contains("context_parallel_size 2"));
}
