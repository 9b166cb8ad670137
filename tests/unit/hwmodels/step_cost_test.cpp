#include "hwmodels/step_cost.hpp"

#include <catch2/catch.hpp>
#include <random>

#include "hwmodels/kernels/all_reduce.hpp"
#include "hwmodels/kernels/elementwise.hpp"
#include "hwmodels/kernels/gemm.hpp"

using namespace tokenline;
using namespace tokenline::hw;
using Catch::Contains;

namespace {

StepSetup setup(const std::string& model, const std::string& gpu, std::int64_t ranks) {
  return {.model = models::load_model(model),
          .gpu = load_gpu(gpu),
          .tensor_parallel_size = ranks,
          .prefill_kernel = PrefillKernel::fa2,
          .decode_kernel = DecodeKernel::flash_decoding,
          .max_tokens = 8192,
          .max_sequences = 256};
}

Price prefill(const StepCost& cost, std::int64_t tokens, std::int64_t past = 0) {
  const Chunk chunk{tokens, past};
  return cost.price({.chunks = std::span(&chunk, 1), .sampled = 1});
}

Price decode(const StepCost& cost, std::int64_t sequences, std::int64_t context) {
  return cost.price({.decode_sequences = sequences,
                     .decode_context = context,
                     .chunks = {},
                     .sampled = sequences});
}

}  // namespace

TEST_CASE("a decode step is the sum of its kernels", "[hwmodels]") {
  const StepSetup s = setup("llama-2-70b", "h100_sxm", 8);
  const StepCost cost(s);
  const models::OperatorList list = models::operators(s.model, 8);
  Seconds expected;
  for (const auto& product : list.gemms)
    expected += static_cast<double>(product.count) * gemm(s.gpu, {1, product.n, product.k}).time;
  for (const auto& op : list.elementwise)
    expected += static_cast<double>(op.count) * elementwise(s.gpu, op.bytes_per_token).time;
  expected += 160.0 * all_reduce(*s.gpu.all_reduce_of(8), Bytes(8192 * 2));
  expected += 80.0 * decode_attention(s.gpu, s.decode_kernel, {8, 1, 128}, {1, 1000}).time;
  expected += gemm(s.gpu, {1, list.lm_head.n, list.lm_head.k}).time +
              elementwise(s.gpu, list.sampler.bytes_per_token).time;
  CHECK(decode(cost, 1, 1000).time.value() == Approx(expected.value()));
}

TEST_CASE("a step without work costs nothing", "[hwmodels]") {
  const Price price = StepCost(setup("llama-2-7b", "a100_sxm_80gb", 1)).price({});
  CHECK(price.time.value() == 0.0);
  CHECK(price.bytes.value() == 0.0);
}

TEST_CASE("one decode step reads every weight once", "[hwmodels]") {
  const StepCost cost(setup("llama-2-70b", "a100_sxm_80gb", 4));
  const models::Architecture& model = cost.setup().model;
  const double embedding = 2.0 * static_cast<double>(model.vocab_size * model.hidden_size) / 4;
  CHECK(decode(cost, 1, 1).bytes.value() ==
        Approx(cost.weights().value() - embedding).epsilon(0.005));
}

TEST_CASE("weights are shared out, norms copied", "[hwmodels]") {
  const StepCost whole(setup("llama-2-70b", "h100_sxm", 1));
  const StepCost eighth(setup("llama-2-70b", "h100_sxm", 8));
  const models::Architecture& model = whole.setup().model;
  const double norms = 2.0 * static_cast<double>(model.vector_parameters());
  CHECK(whole.weights().value() == 2.0 * static_cast<double>(model.parameters()));
  CHECK(8.0 * (eighth.weights().value() - norms) == whole.weights().value() - norms);
  CHECK(whole.kv_per_token() == model.kv_bytes_per_token());
  CHECK(8.0 * eighth.kv_per_token() == model.kv_bytes_per_token());
}

TEST_CASE("KV is replicated when there are more ranks than kv heads", "[hwmodels]") {
  const StepCost cost(setup("qwen2.5-7b", "h100_sxm", 4));
  const StepSetup more = setup("qwen3-235b-a22b", "h100_sxm", 8);
  CHECK(4.0 * cost.kv_per_token() == cost.setup().model.kv_bytes_per_token());
  CHECK(models::load_model("qwen2.5-7b").kv_heads == 4);
  CHECK_THAT(StepCost::first_refusal(more), Contains("mixture-of-experts"));
}

TEST_CASE("activations are the widest layer and the logits", "[hwmodels]") {
  StepSetup s = setup("llama-2-70b", "h100_sxm", 8);
  const double residual = 2 * 8192;
  const double mlp = 3 * 28672 / 8;
  const double logits = 32000 * (2 + 4);
  CHECK(StepCost(s).activations(1000, 10, 1'000'000).value() ==
        1000 * (residual + mlp) * 2 + 10 * logits);
  s.prefill_kernel = PrefillKernel::naive;
  const double scores = 2 * 1e6 * (64 / 8) * 2;
  CHECK(StepCost(s).activations(1000, 10, 1'000'000).value() ==
        1000 * (residual + mlp) * 2 + 10 * logits + scores);
}

TEST_CASE("work outside the measurements is counted as off grid", "[hwmodels]") {
  StepSetup s = setup("llama-2-70b", "h100_sxm", 8);
  s.prefill_kernel = PrefillKernel::fa3;
  const StepCost cost(s);
  CHECK(prefill(cost, 2048).off_grid.value() == 0.0);
  CHECK(decode(cost, 64, 64 * 1000).off_grid.value() == 0.0);
  // No measured row has past KV: all of its attention is off the grid.
  const Price chunk = prefill(cost, 2048, 4096);
  const double attention =
      80 * prefill_attention(s.gpu, PrefillKernel::fa3, {8, 1, 128}, {2048, 4096}).time.value();
  CHECK(chunk.off_grid.value() == Approx(attention));
  CHECK(decode(cost, 1, 200'000).off_grid.value() > 0.0);
}

TEST_CASE("more work never takes less time", "[hwmodels]") {
  const auto* model = GENERATE("llama-2-70b", "llama-3.1-8b");
  const auto kernel = GENERATE(PrefillKernel::naive, PrefillKernel::fa1, PrefillKernel::fa2);
  StepSetup s = setup(model, "a100_sxm_80gb", 2);
  s.prefill_kernel = kernel;
  const StepCost cost(s);
  std::mt19937 random(42);
  const auto draw = [&](std::int64_t most) { return static_cast<std::int64_t>(random()) % most; };
  for (int i = 0; i < 2000; ++i) {
    const std::int64_t sequences = 1 + draw(255);
    const Chunk less{1 + draw(4000), draw(30'000)};
    const Chunk more{less.new_tokens + draw(200), less.past_tokens + draw(200)};
    const std::int64_t context = sequences + draw(1'000'000);
    const StepShape small{sequences, context, std::span(&less, 1), sequences};
    const std::int64_t extra = draw(256 - sequences);
    const StepShape large{sequences + extra, context + extra + draw(1000), std::span(&more, 1),
                          sequences + extra};
    CHECK(cost.price(small).time <= cost.price(large).time);
  }
}

TEST_CASE("a chunked prompt costs more than a whole one, by re-read weights and KV", "[hwmodels]") {
  const StepCost cost(setup("llama-2-70b", "h100_sxm", 8));
  Price chunked;
  for (std::int64_t past = 0; past < 8192; past += 512) chunked += prefill(cost, 512, past);
  const Price whole = prefill(cost, 8192);
  CHECK(chunked.time > whole.time);
  CHECK(chunked.bytes > whole.bytes);
}

TEST_CASE("what cannot be priced is refused with its reason", "[hwmodels]") {
  const auto refusal = [](const std::string& model, const std::string& gpu, std::int64_t ranks) {
    return StepCost::first_refusal(setup(model, gpu, ranks));
  };
  CHECK(refusal("llama-2-70b", "h100_sxm", 8).empty());
  CHECK_THAT(refusal("mixtral-8x7b", "h100_sxm", 8), Contains("mixture-of-experts"));
  CHECK_THAT(refusal("llama-3.1-70b-fp8", "h100_sxm", 8), Contains("fp8 weights"));
  CHECK_THAT(refusal("llama-2-70b", "h100_sxm", 3), Contains("does not divide 64 attention heads"));
  CHECK_THAT(refusal("llama-2-70b", "h100_sxm", 16), Contains("no all-reduce over 16 ranks"));
  auto latent = setup("llama-2-70b", "h100_sxm", 8);
  latent.model.mla = models::LatentAttention{};
  CHECK_THAT(StepCost::first_refusal(latent), Contains("latent attention"));
  auto sliding = setup("llama-2-70b", "h100_sxm", 8);
  sliding.model.sliding_window = 4096;
  CHECK_THAT(StepCost::first_refusal(sliding), Contains("sliding-window"));
  auto wide = setup("llama-2-70b", "h100_sxm", 8);
  wide.model.head_dim = 512;
  CHECK_THAT(StepCost::first_refusal(wide), Contains("head_dim 256"));
  auto ampere = setup("llama-2-70b", "a100_sxm_80gb", 8);
  ampere.prefill_kernel = PrefillKernel::fa3;
  CHECK_THAT(StepCost::first_refusal(ampere), Contains("Hopper"));
  CHECK_THROWS_AS(StepCost(ampere), std::invalid_argument);
}
