#include "hwmodels/kernels/attention_pricer.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/hwmodels/builders.hpp"

using namespace tokenline;
using namespace tokenline::hw;

namespace {

const Heads llama{32, 8, 128};  // Llama-3.1-8B

AttentionPricer pricer(const Gpu& gpu, const Heads& heads = llama) {
  return {gpu, usual_prefill(gpu.generation), DecodeKernel::flash_decoding, heads, 2};
}

/// Round numbers, fa2, with one shape of `llama` in the grid under `fits`.
Gpu with_attention_grid(KernelFits Gpu::* fits, std::vector<GridAxis> axes, double ratio) {
  Gpu gpu = round_gpu(usual_fit());
  const auto shape = attention_shape(llama);
  (gpu.*fits).insert_or_assign("bfloat16",
                               with_grid(usual_fit(), {"head_dim", "q_heads", "kv_heads", "shared"},
                                         std::move(axes), {shape.begin(), shape.end()}, ratio));
  return gpu;
}

}  // namespace

TEST_CASE("beyond any grid attention is its roofline", "[hwmodels]") {
  const Gpu gpu = round_gpu(usual_fit());
  const AttentionPricer price = pricer(gpu);
  CHECK(price.prefill(700, 300).time ==
        prefill_attention(gpu, PrefillKernel::fa2, llama, {.new_tokens = 700, .past_tokens = 300})
            .time);
  CHECK(price.decode(5, 5000).time ==
        decode_attention(gpu, DecodeKernel::flash_decoding, llama, {5, 5000}).time);
  CHECK(price.decode(5, 5000).provenance == Provenance::fitted);
}

TEST_CASE("a grid of prompts multiplies the price of prompts", "[hwmodels]") {
  const Gpu gpu = with_attention_grid(&Gpu::prefill_attention,
                                      {{"batch", {1, 2}}, {"length", {512, 1024}}}, 1.5);
  const double roof =
      prefill_attention(gpu, PrefillKernel::fa2, llama, {.new_tokens = 512}).time.value();
  const KernelCost cost = pricer(gpu).prefill(512, 0);
  CHECK(cost.time.value() == Approx(1.5 * roof));
  CHECK(cost.provenance == Provenance::measured);
  // Of a prompt after past tokens nothing was measured here.
  CHECK(pricer(gpu).prefill(512, 100).provenance == Provenance::fitted);
}

TEST_CASE("past tokens multiply the price of a prompt by what was measured of them", "[hwmodels]") {
  Gpu gpu = with_attention_grid(&Gpu::chunked_prefill, {{"new", {512}}, {"past", {1, 4096}}}, 1.0);
  const auto shape = attention_shape(llama);
  ResidualGrid grid({"head_dim", "q_heads", "kv_heads", "shared"},
                    {{"new", {512}}, {"past", {1, 4096}}});
  grid.add(shape, std::vector<std::int64_t>{512, 1}, 0.8);
  grid.add(shape, std::vector<std::int64_t>{512, 4096}, 1.6);
  gpu.chunked_prefill.at("bfloat16").grid = std::make_shared<const ResidualGrid>(std::move(grid));
  const auto roof = [&](std::int64_t past) {
    return prefill_attention(gpu, PrefillKernel::fa2, llama,
                             {.new_tokens = 512, .past_tokens = past})
        .time.value();
  };
  const KernelCost cost = pricer(gpu).prefill(512, 4096);
  CHECK(cost.time.value() == Approx(roof(0) * (1.6 * roof(4096)) / (0.8 * roof(0))));
  CHECK(cost.provenance == Provenance::measured);
}

TEST_CASE("decodes beside chunks without measurements are prompts of one token, launched with them",
          "[hwmodels]") {
  const Gpu gpu = round_gpu(usual_fit());
  const Decode decode{16, 16 * 2000};
  const KernelCost roof =
      roofline(gpu, usual_fit(), mixed_decode_terms(gpu, PrefillKernel::fa2, llama, decode));
  CHECK(pricer(gpu).mixed_decode(16, 16 * 2000).time.value() == Approx(roof.time.value() - 3e-6));
}

TEST_CASE("decodes beside chunks have their own measurements where there are any", "[hwmodels]") {
  const Gpu gpu =
      with_attention_grid(&Gpu::mixed_decode, {{"batch", {16}}, {"context", {2000}}}, 0.5);
  const KernelCost roof = roofline(
      gpu, usual_fit(), mixed_decode_terms(gpu, PrefillKernel::fa2, llama, {16, 16 * 2000}));
  const KernelCost cost = pricer(gpu).mixed_decode(16, 16 * 2000);
  CHECK(cost.time.value() == Approx(0.5 * roof.time.value()));
  CHECK(cost.provenance == Provenance::measured);
}

TEST_CASE("another kernel than the measured one has no grid", "[hwmodels]") {
  const Gpu gpu = load_gpu("h100_sxm");
  const AttentionPricer other(gpu, PrefillKernel::fa2, DecodeKernel::plain, llama, 2);
  CHECK(other.prefill(1024, 0).provenance == Provenance::fitted);
  CHECK(other.decode(8, 8000).provenance == Provenance::fitted);
  CHECK(pricer(gpu).prefill(1024, 0).provenance == Provenance::measured);
  CHECK(pricer(gpu).decode(8, 8000).provenance == Provenance::measured);
}

TEST_CASE("plain decoding saves the launch of the kernel that merges", "[hwmodels]") {
  Gpu gpu = round_gpu(usual_fit());
  const Decode decode{1000, 1'000'000};
  const KernelTerms terms = decode_terms(gpu, DecodeKernel::plain, llama, decode);
  CHECK(decode_attention(gpu, DecodeKernel::plain, llama, decode).time.value() ==
        Approx(roofline(gpu, usual_fit(), terms).time.value() - 3e-6));
}

TEST_CASE("shapes with shared kv heads are far from those without", "[hwmodels]") {
  const auto shared = attention_shape({32, 8, 128});
  const auto own = attention_shape({32, 32, 128});
  CHECK(shared == std::array<std::int64_t, 4>{128, 32, 8, 16});
  CHECK(own == std::array<std::int64_t, 4>{128, 32, 32, 1});
}
