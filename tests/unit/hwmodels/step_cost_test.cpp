#include "hwmodels/step_cost.hpp"

#include <catch2/catch.hpp>
#include <numeric>

#include "hwmodels/kernels/collective.hpp"
#include "hwmodels/kernels/elementwise.hpp"
#include "hwmodels/kernels/experts.hpp"
#include "hwmodels/kernels/gemm.hpp"

using namespace tokenline;
using namespace tokenline::hw;
using Catch::Contains;

namespace {

StepSetup setup(const std::string& model, const std::string& gpu, std::int64_t tensor,
                std::int64_t data = 1, std::int64_t expert = 1) {
  StepSetup setup;
  setup.model = models::load_model(model);
  setup.gpu = load_gpu(gpu);
  setup.parallelism = {tensor, data, expert};
  setup.prefill_kernel = usual_prefill(setup.gpu.generation);
  setup.max_tokens = 2048;
  setup.max_sequences = 256;
  return setup;
}

Price price_prefill(const StepCost& cost, std::int64_t tokens, std::int64_t past = 0) {
  const Chunk chunk{tokens, past};
  return cost.price({.chunks = std::span(&chunk, 1), .sampled = 1});
}

Price price_decode(const StepCost& cost, std::int64_t sequences, std::int64_t context) {
  return cost.price({.decode_sequences = sequences,
                     .decode_context = context,
                     .chunks = {},
                     .sampled = sequences});
}

double times(std::int64_t count, Seconds time) { return static_cast<double>(count) * time.value(); }

/// Everything of a step but attention: kernels over a group's tokens, experts over those of all
/// groups, LM head and sampler over a group's sampled sequences.
double without_attention(const StepSetup& s, std::int64_t tokens, std::int64_t sampled) {
  const models::OperatorList list = models::operators(s.model, s.parallelism);
  const auto product = [&](const models::Gemm& op, std::int64_t m) {
    return times(op.count, gemm(s.gpu, {m, op.n, op.k, op.precision}).time);
  };
  const auto streaming = [&](const models::Elementwise& op, std::int64_t rows) {
    return times(op.count, ElementwisePricer(s.gpu, op.name, op.bytes_per_token)(rows).time);
  };
  double sum = product(list.lm_head, sampled) + streaming(list.sampler, sampled);
  for (const auto& op : list.gemms) sum += product(op, tokens);
  for (const auto& op : list.elementwise) sum += streaming(op, tokens);
  for (const auto& op : list.collectives)
    sum += times(op.count, CollectivePricer(s.gpu, op.op, op.gpus)(static_cast<double>(tokens) *
                                                                   op.bytes_per_token)
                               .time);
  if (list.experts)
    sum +=
        times(list.experts->count,
              ExpertPricer(s.gpu, *list.experts, s.expert_load)(tokens * s.parallelism.data).time);
  return sum;
}

AttentionPricer attention(const StepSetup& s) {
  const models::OperatorList list = models::operators(s.model, s.parallelism);
  return {s.gpu,
          s.prefill_kernel,
          s.decode_kernel,
          {list.q_heads, list.kv_heads, list.head_dim},
          s.kv_element};
}

}  // namespace

TEST_CASE("a step of a dense model is the sum of its kernels", "[hwmodels]") {
  const StepSetup s = setup("llama-2-70b", "h100_sxm", 8);
  const StepCost cost(s);
  const AttentionPricer attend = attention(s);
  CHECK(price_decode(cost, 4, 4000).time.value() ==
        Approx(without_attention(s, 4, 4) + times(80, attend.decode(4, 4000).time)));
  CHECK(price_prefill(cost, 500, 300).time.value() ==
        Approx(without_attention(s, 500, 1) + times(80, attend.prefill(500, 300).time)));
}

TEST_CASE("decodes beside a chunk share its kernels and add what a mixed call costs",
          "[hwmodels]") {
  const StepSetup s = setup("llama-3.1-8b", "h100_sxm", 1);
  const StepCost cost(s);
  const AttentionPricer attend = attention(s);
  const Chunk chunk{512, 1024};
  const Price mixed = cost.price({16, 16 * 1000, std::span(&chunk, 1), 17});
  CHECK(mixed.time.value() ==
        Approx(without_attention(s, 528, 17) +
               times(32, attend.prefill(512, 1024).time + attend.mixed_decode(16, 16'000).time)));
}

TEST_CASE("a step of a mixture of experts is the sum of its kernels", "[hwmodels]") {
  const StepSetup s = setup("qwen3-30b-a3b", "h100_sxm", 1);
  const StepCost cost(s);
  CHECK(price_decode(cost, 8, 8000).time.value() ==
        Approx(without_attention(s, 8, 8) + times(48, attention(s).decode(8, 8000).time)));
}

TEST_CASE("a step of latent attention is the sum of its kernels", "[hwmodels]") {
  const StepSetup s = setup("deepseek-v3", "h200_sxm", 8, 1, 8);
  const StepCost cost(s);
  const models::OperatorList list = models::operators(s.model, s.parallelism);
  REQUIRE(list.mla);
  const MlaPricer latent(s.gpu, *list.mla, 2);
  CHECK(price_decode(cost, 8, 8000).time.value() ==
        Approx(without_attention(s, 8, 8) + times(61, latent.decode(8, 8000).time)));
  CHECK(price_prefill(cost, 700).time.value() ==
        Approx(without_attention(s, 700, 1) + times(61, latent.prefill(700, 0).time)));
}

TEST_CASE("sliding-window layers see a window of the context", "[hwmodels]") {
  const StepSetup s = setup("gpt-oss-20b", "h100_sxm", 1);
  const StepCost cost(s);
  const AttentionPricer attend = attention(s);
  const std::int64_t window = *s.model.sliding_window;
  REQUIRE(window == 128);
  CHECK(price_decode(cost, 4, 4000).time.value() ==
        Approx(without_attention(s, 4, 4) +
               times(12, attend.decode(4, 4000).time + attend.decode(4, 4 * 128).time)));
  // 640 new tokens: five pieces of a window each, half a window before them.
  CHECK(price_prefill(cost, 640).time.value() ==
        Approx(without_attention(s, 640, 1) +
               times(12, attend.prefill(640, 0).time + attend.prefill(128, 64, 5).time)));
  // Fewer than a window: past tokens as far as it reaches.
  CHECK(price_prefill(cost, 100, 5000).time.value() ==
        Approx(without_attention(s, 100, 1) +
               times(12, attend.prefill(100, 5000).time + attend.prefill(100, 128).time)));
}

TEST_CASE("with data parallel attention each group runs its share, experts meet all tokens",
          "[hwmodels]") {
  const StepSetup s = setup("qwen3-30b-a3b", "h100_sxm", 1, 4, 4);
  const StepCost cost(s);
  const AttentionPricer attend = attention(s);
  CHECK(price_decode(cost, 32, 32'000).time.value() ==
        Approx(without_attention(s, 8, 8) + times(48, attend.decode(8, 8000).time)));
  // One chunk runs in one group, which the others wait for; its tokens are spread over all tables.
  CHECK(price_prefill(cost, 1000).time.value() ==
        Approx(without_attention(s, 250, 1) + times(48, attend.prefill(1000, 0).time)));
  // Of eight equal chunks each group runs two.
  const std::vector<Chunk> chunks(8, Chunk{200, 0});
  CHECK(cost.price({.chunks = chunks, .sampled = 8}).time.value() ==
        Approx(without_attention(s, 400, 2) + times(2 * 48, attend.prefill(200, 0).time)));
}

TEST_CASE("the error band moves every price by its operator's median error", "[hwmodels]") {
  StepSetup s = setup("llama-3.1-8b", "h100_sxm", 1);
  const models::OperatorList list = models::operators(s.model, s.parallelism);
  const AttentionPricer attend = attention(s);
  double moved = times(32, attend.decode(4, 4000).time) * attend.decode_error().median;
  const auto add_product = [&](const models::Gemm& op) {
    moved += times(op.count, gemm(s.gpu, {4, op.n, op.k, op.precision}).time) *
             s.gpu.gemm.at("bfloat16").error.median;
  };
  const auto add_streaming = [&](const models::Elementwise& op) {
    const ElementwisePricer pricer(s.gpu, op.name, op.bytes_per_token);
    moved += times(op.count, pricer(4).time) * pricer.fit().error.median;
  };
  for (const auto& op : list.gemms) add_product(op);
  for (const auto& op : list.elementwise) add_streaming(op);
  add_product(list.lm_head);
  add_streaming(list.sampler);
  const double middle = price_decode(StepCost(s), 4, 4000).time.value();
  s.error_band = 1.0;
  CHECK(price_decode(StepCost(s), 4, 4000).time.value() - middle == Approx(moved));
  s.error_band = -1.0;
  CHECK(middle - price_decode(StepCost(s), 4, 4000).time.value() == Approx(moved));
}

TEST_CASE("no error band makes a price negative", "[hwmodels]") {
  StepSetup s = setup("llama-3.1-8b", "h100_sxm", 1);
  s.gpu.elementwise.clear();
  KernelFit wild;
  wild.launch = Seconds(1.0);
  wild.error.median = 3.0;
  s.gpu.elementwise.emplace("other", wild);
  s.error_band = -1.0;
  const Price price = price_decode(StepCost(s), 1, 100);
  CHECK(price.time.value() > 0.0);
  CHECK(price.time.value() < 0.1);
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
  CHECK(price_decode(cost, 1, 1).bytes.value() ==
        Approx(cost.weights().value() - embedding).epsilon(0.005));
}

TEST_CASE("weights and KV are those of the model on one GPU", "[hwmodels]") {
  const StepSetup s = setup("qwen3-30b-a3b", "h100_sxm", 2, 2, 4);
  const StepCost cost(s);
  CHECK(cost.weights() == models::weight_bytes(s.model, s.parallelism));
  CHECK(cost.kv_per_token() == models::kv_bytes_per_token(s.model, s.parallelism, 2));
  StepSetup narrow = s;
  narrow.kv_element = 1;
  CHECK(2.0 * StepCost(narrow).kv_per_token() == cost.kv_per_token());
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

TEST_CASE("work outside the measurements is counted as off grid, by operator", "[hwmodels]") {
  const StepSetup s = setup("llama-2-70b", "h100_sxm", 8);
  const StepCost cost(s);
  // LM head and sampler of a single token: the sampler was not measured on this GPU.
  const Price whole = price_prefill(cost, 2048);
  CHECK(whole.off_grid[OperatorKind::gemm].value() == 0.0);
  CHECK(whole.off_grid[OperatorKind::prefill_attention].value() == 0.0);
  CHECK(whole.off_grid[OperatorKind::collective].value() == 0.0);
  CHECK(price_decode(cost, 64, 64 * 1000).off_grid[OperatorKind::decode_attention].value() == 0.0);
  // No measured row of this GPU has past KV: all of its attention is off the grid.
  const Price chunk = price_prefill(cost, 2048, 4096);
  CHECK(chunk.off_grid[OperatorKind::prefill_attention].value() ==
        Approx(times(80, attention(s).prefill(2048, 4096).time)));
  CHECK(price_decode(cost, 1, 200'000).off_grid[OperatorKind::decode_attention].value() > 0.0);
}

TEST_CASE("on a GPU that nobody measured everything is off the grid", "[hwmodels]") {
  const StepSetup s =
      setup(GENERATE("llama-3.1-8b", "qwen3-30b-a3b"), GENERATE("b200", "h100_pcie"), 2);
  const StepCost cost(s);
  for (const Price& price : {price_prefill(cost, 1000, 100), price_decode(cost, 8, 8000)})
    CHECK(price.off_grid.total().value() == Approx(price.time.value()));
}

TEST_CASE("kinds of operators sum to what is off the grid", "[hwmodels]") {
  OperatorTimes a;
  a[OperatorKind::gemm] = Seconds(1.0);
  OperatorTimes b;
  b[OperatorKind::gemm] = Seconds(2.0);
  b[OperatorKind::mla] = Seconds(4.0);
  a += b;
  CHECK(a.total().value() == 7.0);
  a -= b;
  CHECK(a.total().value() == 1.0);
  CHECK(name(OperatorKind::mla) == "mla");
}

TEST_CASE("more decode context never takes less than nine tenths of the time", "[hwmodels]") {
  // Other kernels at other sizes may be faster, but not by much: prices have no holes.
  const auto* gpu = GENERATE("a100_sxm_80gb", "h100_sxm", "rtx_pro_6000");
  const StepCost cost(setup("llama-3.1-8b", gpu, 1));
  for (const std::int64_t sequences : {1, 8, 64, 200}) {
    Seconds last;
    for (std::int64_t context = 64; context < 32'768; context += context / 4) {
      const Seconds time = price_decode(cost, sequences, sequences * context).time;
      INFO(gpu << " " << sequences << " at " << context);
      CHECK(time > 0.9 * last);
      last = time;
    }
  }
}

TEST_CASE("a chunked prompt costs more than a whole one, by re-read weights and KV", "[hwmodels]") {
  const StepCost cost(setup("llama-2-70b", "h100_sxm", 8));
  Price chunked;
  for (std::int64_t past = 0; past < 2048; past += 256) chunked += price_prefill(cost, 256, past);
  const Price whole = price_prefill(cost, 2048);
  CHECK(chunked.time > whole.time);
  CHECK(chunked.bytes > whole.bytes);
}

TEST_CASE("what cannot be priced is refused with its reason", "[hwmodels]") {
  const auto refusal = [](const std::string& model, const std::string& gpu, std::int64_t tensor,
                          std::int64_t data = 1, std::int64_t expert = 1) {
    return StepCost::first_refusal(setup(model, gpu, tensor, data, expert));
  };
  CHECK(refusal("llama-2-70b", "h100_sxm", 8).empty());
  CHECK(refusal("mixtral-8x7b", "h100_sxm", 2, 1, 2).empty());
  CHECK_THAT(refusal("llama-2-70b", "h100_sxm", 0), Contains("at least 1"));
  CHECK_THAT(refusal("llama-2-70b", "h100_sxm", 3), Contains("tensor_parallel_size"));
  CHECK_THAT(refusal("llama-2-70b", "h100_sxm", 16),
             Contains("a replica of 16 GPUs spans nodes of 8"));
  auto isolated = setup("llama-2-70b", "l4", 8);
  isolated.gpu.interconnect = BytesPerSecond(0.0);
  CHECK_THAT(StepCost::first_refusal(isolated),
             Contains("all_reduce over 8 GPUs was not measured on l4"));
  auto wide = setup("llama-2-70b", "h100_sxm", 8);
  wide.model.head_dim = 512;
  CHECK_THAT(StepCost::first_refusal(wide), Contains("head_dim 256"));
  auto ampere = setup("llama-2-70b", "a100_sxm_80gb", 8);
  ampere.prefill_kernel = PrefillKernel::fa3;
  CHECK_THAT(StepCost::first_refusal(ampere), Contains("Hopper"));
  CHECK_THROWS_AS(StepCost(ampere), std::invalid_argument);
}
