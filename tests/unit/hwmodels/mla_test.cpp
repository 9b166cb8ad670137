#include "hwmodels/kernels/mla.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "hwmodels/kernels/gemm.hpp"
#include "tests/unit/hwmodels/builders.hpp"

using namespace tokenline;
using namespace tokenline::hw;

namespace {

/// DeepSeek-V3: 7168 wide, queries through 1536, latents of 512 + 64, heads of 128 + 64 and 128.
models::LatentAttentionLayers latent_layers(std::int64_t heads = 128) {
  return {.dims = {.q_lora_rank = 1536,
                   .kv_lora_rank = 512,
                   .qk_nope_head_dim = 128,
                   .qk_rope_head_dim = 64,
                   .v_head_dim = 128},
          .count = 61,
          .q_heads = heads,
          .hidden_size = 7168,
          .precision = models::Precision::bfloat16};
}

/// Weights of the projections for some heads.
double weights(double heads) {
  const double q = 1536.0 * (7168 + heads * 192);
  const double kv_down = 7168.0 * 576;
  const double kv_up = 512.0 * heads * 256;
  const double o = heads * 128 * 7168;
  return q + kv_down + kv_up + o;
}

}  // namespace

TEST_CASE("latent decoding reads 576 values per context token, whatever the heads", "[hwmodels]") {
  const std::int64_t heads = GENERATE(1, 16, 128);
  const std::int64_t element = GENERATE(1, 2);
  const KernelTerms terms =
      mla_decode_terms(round_sheet(), latent_layers(heads), 4, 40'000, element,
                       /*projections=*/false);
  const double queries_and_sums = 4.0 * static_cast<double>(heads) * (2 * 512 + 64) * 2;
  CHECK(terms.bytes.value() == 576.0 * static_cast<double>(element) * 40'000 + queries_and_sums);
  CHECK(terms.flops.value() == 2.0 * 40'000 * static_cast<double>(heads) * (2 * 512 + 64));
}

TEST_CASE("the projections of latent decoding read their weights once", "[hwmodels]") {
  const auto terms = [](bool projections) {
    return mla_decode_terms(round_sheet(), latent_layers(), 1, 1000, 2, projections);
  };
  CHECK(terms(true).flops.value() - terms(false).flops.value() == Approx(2.0 * weights(128)));
  CHECK(terms(true).bytes.value() - terms(false).bytes.value() ==
        Approx(2.0 * weights(128)).epsilon(0.001));
}

TEST_CASE("latent prefill computes half of the square of each head and its widths", "[hwmodels]") {
  const double n = 1000;
  const KernelTerms terms = mla_prefill_terms(round_sheet(), latent_layers(), 2, 1000, 0, 2, false);
  CHECK(terms.flops.value() == 2.0 * 2 * n * (0.5 * (n + 1)) * 128 * (192 + 128));
  CHECK(terms.compute.value() == Approx(terms.flops.value() / 100e12));
}

TEST_CASE("latents of past tokens are expanded again by every chunk", "[hwmodels]") {
  const auto flops = [](std::int64_t past, bool projections) {
    return mla_prefill_terms(round_sheet(), latent_layers(), 1, 100, past, 2, projections)
        .flops.value();
  };
  const double attention = flops(900, false) - flops(0, false);
  CHECK(attention == Approx(2.0 * 100 * 900 * 128 * 320));
  CHECK(flops(900, true) - flops(0, true) - attention == Approx(2.0 * 900 * 512.0 * 128 * 256));
}

TEST_CASE("Triton walks a quarter of each context by 32 keys, 16 heads to a block", "[hwmodels]") {
  Datasheet small = round_sheet();
  small.shared_memory_per_sm = Bytes(164.0 * 1024.0);
  const auto steps_per_sm = [&](std::int64_t heads, std::int64_t sequences, std::int64_t context) {
    return mla_decode_terms(small, latent_layers(heads), sequences, sequences * context, 2, false)
               .blocks /
           100.0;
  };
  const double walk = 32768.0 / 4 / 32;
  CHECK(steps_per_sm(16, 1, 32768) == walk);       // 4 blocks on 100 SMs
  CHECK(steps_per_sm(16, 25, 32768) == walk);      // 100
  CHECK(steps_per_sm(16, 26, 32768) == 2 * walk);  // 104
  CHECK(steps_per_sm(128, 4, 32768) == 2 * walk);  // 8 groups of heads: 128
  CHECK(steps_per_sm(1, 1, 32768) == walk);
  // Larger shared memory: FlashMLA, without such blocks.
  CHECK(mla_decode_terms(round_sheet(), latent_layers(), 4, 4000, 2, false).blocks == 0.0);
}

TEST_CASE("a measured block of latent attention is priced by its fit", "[hwmodels]") {
  const Gpu gpu = round_gpu(usual_fit());
  const MlaPricer pricer(gpu, latent_layers(), 2);
  CHECK(pricer.decode(8, 8000).time.value() ==
        Approx(roofline(gpu, usual_fit(), mla_decode_terms(gpu, latent_layers(), 8, 8000, 2, true))
                   .time.value()));
  CHECK(
      pricer.prefill(500, 0).time.value() ==
      Approx(roofline(gpu, usual_fit(), mla_prefill_terms(gpu, latent_layers(), 1, 500, 0, 2, true))
                 .time.value()));
}

TEST_CASE("where attention alone was measured, projections are added as products", "[hwmodels]") {
  Gpu gpu = round_gpu(usual_fit());
  gpu.mla_decode.clear();
  gpu.mla_decode.emplace("bfloat16 attention", ideal_fit());
  const KernelTerms attention = mla_decode_terms(gpu, latent_layers(), 8, 8000, 2, false);
  const KernelTerms whole = mla_decode_terms(gpu, latent_layers(), 8, 8000, 2, true);
  KernelTerms products = whole;
  products.compute -= attention.compute;
  products.bytes -= attention.bytes;
  products.blocks = 0.0;
  const KernelCost cost = MlaPricer(gpu, latent_layers(), 2).decode(8, 8000);
  CHECK(cost.time.value() == Approx(roofline(gpu, ideal_fit(), attention).time.value() +
                                    roofline(gpu, usual_fit(), products).time.value()));
  CHECK(cost.flops.value() == Approx(whole.flops.value()));
  CHECK(cost.provenance == Provenance::fitted);
}

TEST_CASE("latent prefill after past tokens was never measured", "[hwmodels]") {
  const Gpu gpu = load_gpu("h100_sxm");
  const MlaPricer pricer(gpu, latent_layers(16), 2);
  CHECK(pricer.prefill(1024, 0).provenance == Provenance::measured);
  CHECK(pricer.prefill(1024, 1024).provenance == Provenance::fitted);
  CHECK(pricer.decode(8, 8 * 1025).provenance == Provenance::measured);
}
