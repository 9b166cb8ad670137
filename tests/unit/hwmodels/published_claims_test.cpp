// What papers claim of attention kernels, against what the accounts of kernels/attention.hpp give.
// hwmodels/README.md lists the claims that do not come out.
#include <catch2/catch.hpp>

#include "hwmodels/kernels/attention.hpp"

using namespace tokenline;
using namespace tokenline::hw;

namespace {

/// The papers' benchmark: 16K tokens in all, hidden size 2048, heads of 128.
Prefill benchmark(std::int64_t length, bool causal) {
  return {.new_tokens = length, .batch = 16384 / length, .causal = causal, .cache_update = false};
}
const Heads sixteen{16, 16, 128};

Seconds time(const Gpu& gpu, PrefillKernel kernel, const Prefill& prefill) {
  return prefill_attention(gpu, kernel, sixteen, prefill).time;
}

/// Useful FLOPs over peak, as the papers count: half of the square when causal.
double utilisation(const Gpu& gpu, PrefillKernel kernel, const Prefill& prefill) {
  const double n = static_cast<double>(prefill.new_tokens);
  const double flops =
      4.0 * n * n * 128 * 16 * static_cast<double>(prefill.batch) * (prefill.causal ? 0.5 : 1.0);
  return Flops(flops) / (time(gpu, kernel, prefill) * gpu.peak_16bit);
}

}  // namespace

TEST_CASE("FlashAttention-2 is about twice FlashAttention on A100", "[hwmodels][claim]") {
  // Claim: ≈ 2× (arXiv 2307.08691). Where fa1's blocks fill the SMs; bounds 1.4–3.
  const Gpu gpu = load_gpu("a100_sxm_80gb");
  const Prefill prefill = benchmark(GENERATE(512, 1024, 2048), GENERATE(false, true));
  const double speedup =
      time(gpu, PrefillKernel::fa1, prefill) / time(gpu, PrefillKernel::fa2, prefill);
  CHECK(speedup > 1.4);
  CHECK(speedup < 3.0);
}

TEST_CASE("FlashAttention-2 reaches half to three quarters of the A100", "[hwmodels][claim]") {
  // Claim: 50–73 % on long sequences (arXiv 2307.08691).
  const Gpu gpu = load_gpu("a100_sxm_80gb");
  const double share =
      utilisation(gpu, PrefillKernel::fa2, benchmark(GENERATE(8192, 16384), GENERATE(false, true)));
  CHECK(share > 0.50);
  CHECK(share < 0.73);
}

TEST_CASE("FlashAttention-2 uses about a third of an H100", "[hwmodels][claim]") {
  // Claim: 35 % (arXiv 2407.08608); bounds 25–40 %.
  const Gpu gpu = load_gpu("h100_sxm");
  const double share =
      utilisation(gpu, PrefillKernel::fa2, benchmark(16384, GENERATE(false, true)));
  CHECK(share > 0.25);
  CHECK(share < 0.40);
}

TEST_CASE("FlashAttention-3 is 1.5 to 2 times FlashAttention-2 on H100", "[hwmodels][claim]") {
  // Claim: 1.5–2× (arXiv 2407.08608) from 2K on; bounds 1.5–2.1.
  const Gpu gpu = load_gpu("h100_sxm");
  const Prefill prefill = benchmark(GENERATE(2048, 4096, 8192, 16384), GENERATE(false, true));
  const double speedup =
      time(gpu, PrefillKernel::fa2, prefill) / time(gpu, PrefillKernel::fa3, prefill);
  CHECK(speedup > 1.5);
  CHECK(speedup < 2.1);
}

TEST_CASE("FlashAttention-3 stays within the published three quarters of peak",
          "[hwmodels][claim]") {
  // Published at head width 128 and 16K: 648 TFLOP/s full, 616 causal; within 10 %.
  const Gpu gpu = load_gpu("h100_sxm");
  const double full = utilisation(gpu, PrefillKernel::fa3, benchmark(16384, false));
  const double causal = utilisation(gpu, PrefillKernel::fa3, benchmark(16384, true));
  CHECK(full == Approx(648.0 / 989).epsilon(0.1));
  CHECK(causal == Approx(616.0 / 989).epsilon(0.1));
  CHECK(full < 0.75);
}

TEST_CASE("every fused kernel of today is at least twice as fast as naive attention",
          "[hwmodels][claim]") {
  const Prefill prefill = benchmark(GENERATE(2048, 8192, 16384), true);
  const Gpu a100 = load_gpu("a100_sxm_80gb");
  CHECK(time(a100, PrefillKernel::naive, prefill) / time(a100, PrefillKernel::fa2, prefill) > 2.0);
  const Gpu h100 = load_gpu("h100_sxm");
  CHECK(time(h100, PrefillKernel::naive, prefill) / time(h100, PrefillKernel::fa3, prefill) > 2.0);
}

TEST_CASE("FlashDecoding is 3 to 8 times faster for one long context", "[hwmodels][claim]") {
  // Claim: 3–8× (PyTorch blog, October 2023: up to 8× end to end); bounds 3–10.
  const Gpu gpu = load_gpu(GENERATE("a100_sxm_80gb", "h100_sxm"));
  const Decode decode{1, GENERATE(8192, 16384, 32768, 131072)};
  const Heads heads{64, 8, 128};
  const double speedup = decode_attention(gpu, DecodeKernel::plain, heads, decode).time /
                         decode_attention(gpu, DecodeKernel::flash_decoding, heads, decode).time;
  CHECK(speedup > 3.0);
  CHECK(speedup < 10.0);
}

TEST_CASE("FlashDecoding gains nothing once sequences fill the SMs", "[hwmodels][claim]") {
  const Gpu gpu = load_gpu(GENERATE("a100_sxm_80gb", "h100_sxm"));
  const Decode decode{128, 128 * 4096};
  const Heads heads{64, 8, 128};
  const double speedup = decode_attention(gpu, DecodeKernel::plain, heads, decode).time /
                         decode_attention(gpu, DecodeKernel::flash_decoding, heads, decode).time;
  CHECK(speedup == Approx(1.0).margin(0.05));
}
