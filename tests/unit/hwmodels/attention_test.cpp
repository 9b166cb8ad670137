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
  const KernelCost cost = prefill_attention(a100(), PrefillKernel::naive, {1, 1, 128},
                                            {.new_tokens = 8192, .causal = false});
  CHECK(cost.bytes.value() == 8 * n * n + 8 * n * d);
  CHECK(cost.bytes.value() == 545'259'520);
  CHECK(cost.flops.value() == 4 * n * n * d);
  CHECK(2 * n * n == 128 * 0x1p20);  // S and P are 128 MiB each
  const double intensity = (cost.flops / cost.bytes).value();
  CHECK(intensity == Approx(4 * n * n * d / (8 * n * n + 8 * n * d)));
  CHECK(std::floor(intensity) == 63);
  CHECK(intensity < (a100().peak_16bit / a100().bandwidth).value());
}

TEST_CASE("naive attention computes the masked half too, and reads and writes S for the mask",
          "[hwmodels]") {
  const Prefill causal{.new_tokens = 4096};
  const Prefill full{.new_tokens = 4096, .causal = false};
  const Heads heads{8, 1, 128};
  const auto cost = [&](const Prefill& prefill) {
    return prefill_attention(a100(), PrefillKernel::naive, heads, prefill);
  };
  CHECK(cost(causal).flops == cost(full).flops);
  CHECK(cost(causal).bytes.value() - cost(full).bytes.value() == 8 * 4.0 * 4096 * 4096);
}

TEST_CASE("fa2 counts K/V blocks of 64 up to the diagonal of each 128 queries", "[hwmodels]") {
  const std::int64_t queries = GENERATE(1, 100, 128, 129, 1000, 4096);
  const std::int64_t past = GENERATE(0, 1, 64, 1000, 16384);
  INFO(queries << " after " << past);
  const KernelTerms terms = prefill_terms(a100(), PrefillKernel::fa2, {8, 8, 128}, {queries, past});
  const double tiles = walked_blocks(queries, past, 1, 64);
  CHECK(terms.flops.value() == 4.0 * 8 * tiles * 128 * 64 * 128);
}

TEST_CASE("fa3 packs the q heads of a kv head into its query blocks", "[hwmodels]") {
  const std::int64_t queries = GENERATE(1, 16, 17, 1000, 4096);
  const std::int64_t past = GENERATE(0, 1, 127, 1000, 16384);
  const std::int64_t group = GENERATE(1, 3, 8);
  INFO(queries << " after " << past << " in groups of " << group);
  const KernelTerms terms =
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

TEST_CASE("fa1 reads Q and moves O, l and m once per tile that is not masked", "[hwmodels]") {
  // A100: 164 KiB / (4 · 128 · 2 B) = 164 rows, as a power of two 128.
  const double n = 2048;
  const KernelTerms terms =
      prefill_terms(a100(), PrefillKernel::fa1, {1, 1, 128}, {.new_tokens = 2048});
  const double tiles = walked_blocks(2048, 0, 1, 128);
  CHECK(tiles == 16.0 * 17 / 2);
  CHECK(terms.bytes.value() == 2 * n * 128 * 2 + tiles * 128 * (3 * 128 * 2 + 4 * 4));
  CHECK(terms.flops.value() == 4.0 * tiles * 128 * 128 * 128);
}

TEST_CASE("fa1 cuts its heads evenly over SMs", "[hwmodels]") {
  const Prefill prefill{.new_tokens = 4096};
  const auto compute = [&](std::int64_t heads) {
    return prefill_terms(a100(), PrefillKernel::fa1, {heads, heads, 128}, prefill).compute.value();
  };
  CHECK(compute(64) == Approx(8.0 * compute(8)));
}

TEST_CASE("blocks of fa2 take turns at products and exponentials, fa3 pays for the longer of them",
          "[hwmodels]") {
  const Heads heads{132, 132, 128};  // one head per SM
  const Prefill one{.new_tokens = 128};
  const double sm = h100().peak_16bit.value() / 132;
  const double mma = 4.0 * 128 * 128 * 128 / sm;
  const double exponentials = 128.0 * 128 / (16 * h100().clock.value());
  // Two customers at two servers: throughput (a + b) / (a² + ab + b²), by mean value analysis.
  const double a = mma / h100().synchronous_mma_share;
  const double b = exponentials;
  CHECK(prefill_terms(h100(), PrefillKernel::fa2, heads, one).compute.value() ==
        Approx((a * a + a * b + b * b) / (a + b)));
  CHECK(prefill_terms(h100(), PrefillKernel::fa3, heads, one).compute.value() ==
        Approx(std::max(mma, exponentials)));
}

TEST_CASE("a block of fa2 that has an SM to itself leaves one unit idle", "[hwmodels]") {
  const Heads heads{132, 132, 256};
  Datasheet narrow = h100();
  narrow.shared_memory_per_sm = Bytes(100.0 * 1024);  // A block of (128 + 2·64)·256·2 B = 128 KiB
  const double per_sm = narrow.peak_16bit.value() * narrow.synchronous_mma_share / 132;
  CHECK(prefill_terms(narrow, PrefillKernel::fa2, heads, {.new_tokens = 128}).compute.value() ==
        Approx(4.0 * 128 * 128 * 256 / per_sm + 128.0 * 128 / (16 * narrow.clock.value())));
}

TEST_CASE("decoding reads K and V of every context once", "[hwmodels]") {
  const Heads heads{8, 1, 128};
  const std::int64_t element = GENERATE(1, 2);
  const KernelTerms terms = decode_terms(a100(), DecodeKernel::plain, heads, {4, 40'000, element});
  // Queries and outputs stay at 16 bit.
  CHECK(terms.bytes.value() ==
        40'000.0 * 1 * 128 * 2 * static_cast<double>(element) + 4.0 * 8 * 128 * 2 * 2);
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

TEST_CASE("a narrower KV cache is written and read at its width", "[hwmodels]") {
  const Heads heads{8, 2, 128};
  const auto bytes = [&](std::int64_t element) {
    return prefill_terms(
               h100(), PrefillKernel::fa3, heads,
               {.new_tokens = 1000, .past_tokens = 3000, .batch = 2, .kv_element = element})
        .bytes.value();
  };
  // Per prompt: Q and O of 8 heads, new K and V at 16 bit; K and V written once and read once.
  const double fixed = 2.0 * 128 * (2 * 8 * 1000 + 2 * 2 * 1000) * 2;
  const double cached = 2.0 * 128 * 2 * 2 * (4000 + 1000);
  CHECK(bytes(2) == fixed + 2 * cached);
  CHECK(bytes(1) == fixed + cached);
}

TEST_CASE("a decode beside chunks is a prompt of one token, of every q head before fa3",
          "[hwmodels]") {
  const Heads heads{32, 8, 128};
  const Decode decode{4, 4 * 1000};
  const auto tiles = [&](const Gpu& gpu, PrefillKernel kernel, double query_block) {
    const double tile = 4.0 * query_block * 128 * 128;
    return mixed_decode_terms(gpu, kernel, heads, decode).flops.value() / tile;
  };
  CHECK(tiles(a100(), PrefillKernel::fa2, 64) == 4 * 32 * std::ceil(1000.0 / 128));
  CHECK(tiles(h100(), PrefillKernel::fa3, 128) == 4 * 8 * std::ceil(1000.0 / 128));
}
