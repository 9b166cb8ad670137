#include "hwmodels/kernels/attention.hpp"

#include <catch2/catch.hpp>
#include <cmath>

using namespace tokenline;
using namespace tokenline::hw;

namespace {

const Gpu& a100() {
  static const Gpu gpu = load_gpu("a100_sxm_80gb");
  return gpu;
}
const Gpu& h100() {
  static const Gpu gpu = load_gpu("h100_sxm");
  return gpu;
}

/// K/V blocks met when query blocks of 128 rows (`group` rows a query) are walked one by one.
double walked_blocks(std::int64_t queries, std::int64_t past, std::int64_t group, int key_block) {
  double total = 0.0;
  const auto rows = static_cast<double>(queries * group);
  for (double end = 128.0;; end += 128.0) {
    const bool last = end >= rows;
    const double keys = static_cast<double>(past) +
                        (last ? static_cast<double>(queries) : end / static_cast<double>(group));
    total += std::ceil(keys / key_block);
    if (last) return total;
  }
}

}  // namespace

TEST_CASE("naive attention moves 8N² + 8Nd bytes per head", "[hwmodels]") {
  const double n = 8192;
  const double d = 128;
  const KernelCost cost =
      prefill_attention(a100(), PrefillKernel::naive, {1, 1, 128}, {.new_tokens = 8192});
  CHECK(cost.bytes.value() == 8 * n * n + 8 * n * d);
  CHECK(cost.bytes.value() == 545'259'520);
  CHECK(cost.flops.value() == 4 * n * n * d);
  CHECK(2 * n * n == 128 * 0x1p20);  // S and P are 128 MiB each
  const double intensity = (cost.flops / cost.bytes).value();
  CHECK(intensity == Approx(4 * n * n * d / (8 * n * n + 8 * n * d)));
  CHECK(std::floor(intensity) == 63);
  CHECK(intensity < (a100().peak_16bit / a100().bandwidth).value());
}

TEST_CASE("naive attention computes the masked half too", "[hwmodels]") {
  const Prefill causal{.new_tokens = 4096};
  const Prefill full{.new_tokens = 4096, .causal = false};
  const Heads heads{8, 1, 128};
  CHECK(prefill_attention(a100(), PrefillKernel::naive, heads, causal).time ==
        prefill_attention(a100(), PrefillKernel::naive, heads, full).time);
}

TEST_CASE("fa2 counts K/V blocks of 64 up to the diagonal of each 128 queries", "[hwmodels]") {
  const std::int64_t queries = GENERATE(1, 100, 128, 129, 1000, 4096);
  const std::int64_t past = GENERATE(0, 1, 64, 1000, 16384);
  INFO(queries << " after " << past);
  const PrefillTerms terms =
      prefill_terms(a100(), PrefillKernel::fa2, {8, 8, 128}, {queries, past});
  const double tiles = walked_blocks(queries, past, 1, 64);
  CHECK(terms.flops.value() == 4.0 * 8 * tiles * 128 * 64 * 128);
}

TEST_CASE("fa3 packs the q heads of a kv head into its query blocks", "[hwmodels]") {
  const std::int64_t queries = GENERATE(1, 16, 17, 1000, 4096);
  const std::int64_t past = GENERATE(0, 1, 127, 1000, 16384);
  const std::int64_t group = GENERATE(1, 3, 8);
  INFO(queries << " after " << past << " in groups of " << group);
  const PrefillTerms terms =
      prefill_terms(h100(), PrefillKernel::fa3, {2 * group, 2, 128}, {queries, past});
  const double tiles = walked_blocks(queries, past, group, 128);
  CHECK(terms.flops.value() == Approx(4.0 * 2 * tiles * 128 * 128 * 128));
  CHECK(terms.blocks == 2 * std::ceil(static_cast<double>(queries * group) / 128));
}

TEST_CASE("causal fa2 does about half the work of a full square", "[hwmodels]") {
  const Heads heads{32, 32, 128};
  const Prefill causal{.new_tokens = 16384};
  const Prefill full{.new_tokens = 16384, .causal = false};
  const double share = prefill_terms(a100(), PrefillKernel::fa2, heads, causal).flops /
                       prefill_terms(a100(), PrefillKernel::fa2, heads, full).flops;
  CHECK(share == Approx(0.5).epsilon(0.01));
}

TEST_CASE("fa1 reads Q and moves O, l and m once per K/V block", "[hwmodels]") {
  // A100: 164 KiB / (4 · 128 · 2 B) = 164 rows, in multiples of 16.
  const double key_block = 160;
  const double n = 2048;
  const double steps = std::ceil(n / key_block);
  const PrefillTerms terms =
      prefill_terms(a100(), PrefillKernel::fa1, {1, 1, 128}, {.new_tokens = 2048});
  const double kv = 2 * n * 128 * 2;
  const double per_step = 3 * n * 128 * 2 + 4 * n * 4;
  CHECK(terms.bytes.value() == kv + steps * per_step);
}

TEST_CASE("fa1 has one block per head, so that few heads leave SMs idle", "[hwmodels]") {
  const Prefill prefill{.new_tokens = 4096};
  const auto compute = [&](PrefillKernel kernel, std::int64_t heads) {
    return prefill_terms(a100(), kernel, {heads, heads, 128}, prefill).compute;
  };
  CHECK(compute(PrefillKernel::fa1, 8) == compute(PrefillKernel::fa1, 64));
  CHECK(compute(PrefillKernel::fa2, 64).value() ==
        Approx(8.0 * compute(PrefillKernel::fa2, 8).value()));
}

TEST_CASE("fa2 pays for exponentials after products, fa3 for the longer of them", "[hwmodels]") {
  const Heads heads{132, 132, 128};  // one head per SM
  const Prefill one{.new_tokens = 128};
  const double sm = h100().peak_16bit.value() / 132;
  const double mma = 4.0 * 128 * 128 * 128 / sm;
  const double exponentials = 128.0 * 128 / (16 * h100().clock.value());
  CHECK(prefill_terms(h100(), PrefillKernel::fa2, heads, one).compute.value() ==
        Approx(mma / h100().synchronous_mma_share + exponentials));
  CHECK(prefill_terms(h100(), PrefillKernel::fa3, heads, one).compute.value() ==
        Approx(std::max(mma, exponentials)));
}

TEST_CASE("decoding reads K and V of every context once", "[hwmodels]") {
  const Heads heads{8, 1, 128};
  const DecodeTerms terms = decode_terms(a100(), DecodeKernel::plain, heads, {4, 40'000});
  CHECK(terms.bytes.value() == 40'000.0 * 1 * 128 * 2 * 2 + 4.0 * 8 * 128 * 2 * 2);
  CHECK(terms.flops.value() == 4.0 * 40'000 * 8 * 128);
}

TEST_CASE("flash decoding adds parts in fp32, at most two per SM", "[hwmodels]") {
  const Heads heads{8, 1, 128};
  const auto extra = [&](const Decode& decode) {
    return decode_terms(h100(), DecodeKernel::flash_decoding, heads, decode).bytes -
           decode_terms(h100(), DecodeKernel::plain, heads, decode).bytes;
  };
  const double part = 8 * (128 + 2) * 4 * 2;
  CHECK(extra({1, 8192}).value() == (1 + 8192 / 256) * part);
  CHECK(extra({1, 1'000'000}).value() == 2 * 132 * part);
  CHECK(extra({1000, 1'000'000}).value() == 1000 * part);
}
