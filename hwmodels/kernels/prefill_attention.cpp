#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include "hwmodels/kernels/attention.hpp"
#include "sim/base/check.hpp"
#include "sim/base/integer.hpp"

namespace tokenline::hw {
namespace {

constexpr std::int64_t element = 2;  ///< Bytes of a 16-bit value.

/// Rows of queries and keys that one pass of a kernel's loop multiplies.
struct PrefillTile {
  std::int64_t queries = 128;
  std::int64_t keys = 128;
};

/// Time of a score tile on one SM: QKᵀ and PV of rows × columns, and its exponentials.
struct TileTime {
  Seconds mma;
  Seconds exponentials;
};

TileTime tile_time(const Datasheet& gpu, bool synchronous, double elements, std::int64_t dim) {
  const double share = synchronous ? gpu.synchronous_mma_share : 1.0;
  const FlopsPerSecond per_sm = share / real(gpu.sms) * gpu.peak_16bit;
  return {Flops(4.0 * elements * real(dim)) / per_sm,
          Seconds(elements / (gpu.exponentials_per_clock * gpu.clock.value()))};
}

/// Σ ⌊(step·i + offset) / divisor⌋ over 0 ≤ i < count, in O(log divisor) by Euclid's algorithm.
std::int64_t floor_sum(std::int64_t count, std::int64_t divisor, std::int64_t step,
                       std::int64_t offset) {
  std::int64_t sum = 0;
  while (count > 0 && divisor > 0) {
    sum += count * (count - 1) / 2 * (step / divisor) + count * (offset / divisor);
    step %= divisor;
    offset %= divisor;
    const std::int64_t last = step * count + offset;
    count = last / divisor;
    offset = last % divisor;
    std::swap(step, divisor);
  }
  return sum;
}

/// KV of earlier steps. What was computed just now may still be in L2.
Bytes past_bytes(const Heads& heads, const Prefill& prefill) {
  return Bytes(real(2 * heads.kv * heads.dim * prefill.kv_element) * real(prefill.batch) *
               real(prefill.past_tokens));
}

/// K/V blocks met by all query blocks of one group of heads, and by the last of them, when fully
/// masked ones are skipped. A query has `group` rows of a query block, one per head.
struct BlockCount {
  std::int64_t query_blocks = 0;
  double total = 0.0;
  double longest = 0.0;
};

BlockCount count_blocks(const Prefill& prefill, std::int64_t group, const PrefillTile& tile) {
  const std::int64_t blocks = ceil_div(prefill.new_tokens * group, tile.queries);
  const std::int64_t all = ceil_div(prefill.past_tokens + prefill.new_tokens, tile.keys);
  if (!prefill.causal) return {blocks, real(blocks * all), real(all)};
  // Of q query rows per block, block i ends with row q·(i+1), hence with key past + q·(i+1) /
  // group, rounded up; the last block with the last key.
  const std::int64_t divisor = tile.keys * group;
  const std::int64_t before = floor_sum(blocks - 1, divisor, tile.queries,
                                        prefill.past_tokens * group + tile.queries + divisor - 1);
  return {blocks, real(before + all), real(all)};
}

/// Time per tile of `resident` thread blocks that share the tensor cores and the exponential units
/// of an SM, each using one after the other. Alone a block leaves one of them idle; two take turns,
/// and the unit that a block wants is busy with the other now and then: throughput of a closed
/// network of two customers and two servers (mean value analysis).
Seconds shared_tile_time(const TileTime& time, std::int64_t resident) {
  const double a = time.mma.value();
  const double b = time.exponentials.value();
  if (resident < 2) return Seconds(a + b);
  return Seconds((a * a + a * b + b * b) / (a + b));
}

/// FlashAttention-3 overlaps the exponentials with the products; FlashAttention-2 needs a second
/// resident block for that.
KernelTerms later_flash_terms(const Datasheet& gpu, bool overlapped, const PrefillTile& tile,
                              const Heads& heads, const Prefill& prefill) {
  // vLLM passes ragged batches, for which FlashAttention-3 packs the q heads of a kv head into one
  // query block (PackGQA, hopper/heuristics.h).
  const std::int64_t group = overlapped ? heads.q / heads.kv : 1;
  const double head_count = real(heads.q / group * prefill.batch);
  const TileTime time = tile_time(gpu, !overlapped, real(tile.queries * tile.keys), heads.dim);
  // A block holds its queries and one tile of K and V.
  const double held = real((tile.queries + 2 * tile.keys) * heads.dim * element);
  const auto resident = static_cast<std::int64_t>(gpu.shared_memory_per_sm.value() / held);
  const Seconds per_tile =
      overlapped ? std::max(time.mma, time.exponentials) : shared_tile_time(time, resident);
  const BlockCount count = count_blocks(prefill, group, tile);
  const std::int64_t keys = prefill.past_tokens + prefill.new_tokens;

  KernelTerms terms;
  terms.blocks = head_count * real(count.query_blocks);
  terms.compute = std::max(head_count / real(gpu.sms) * count.total, count.longest) * per_tile;
  terms.flops =
      Flops(4.0 * head_count * count.total * real(tile.queries * tile.keys) * real(heads.dim));
  terms.peak = attention_peak(gpu, prefill.kv_element);
  terms.fresh = past_bytes(heads, prefill);
  // Q and O; K and V read. The update of the cache is a kernel of its own: it reads the new K and V
  // and writes them.
  const std::int64_t values =
      2 * heads.q * prefill.new_tokens * element + 2 * heads.kv * keys * prefill.kv_element;
  const std::int64_t updated = 2 * heads.kv * prefill.new_tokens * (element + prefill.kv_element);
  if (prefill.cache_update) terms.apart = Bytes(real(prefill.batch * heads.dim * updated));
  terms.bytes = Bytes(real(prefill.batch * heads.dim * values)) + terms.apart;
  return terms;
}

/// Warps of a block of fa1, each of which multiplies a slice of K and V; and what an SM's shared
/// memory moves per clock (CUDA C++ Programming Guide: 32 banks of 4 bytes).
constexpr double first_flash_warps = 4.0;
constexpr double shared_bytes_per_clock = 128.0;

KernelTerms first_flash_terms(const Datasheet& gpu, const Heads& heads, const Prefill& prefill) {
  const std::int64_t dim = heads.dim;
  const std::int64_t queries = prefill.new_tokens;
  const std::int64_t keys = prefill.past_tokens + queries;
  const auto fitting = static_cast<std::uint64_t>(gpu.shared_memory_per_sm.value()) /
                       static_cast<std::uint64_t>(4 * dim * element);
  const PrefillTile tile{.keys = std::clamp<std::int64_t>(
                             static_cast<std::int64_t>(std::bit_floor(fitting)), 16, 256)};
  const BlockCount count = count_blocks(prefill, 1, tile);
  const double tiles = real(heads.q * prefill.batch) * count.total;

  const TileTime time = tile_time(gpu, /*synchronous=*/true, real(tile.queries * tile.keys), dim);
  // Sums of the warps go through shared memory, written and read in fp32, and O is divided and
  // scaled.
  const Seconds exchange(2.0 * first_flash_warps * 4.0 * real(tile.queries * dim) /
                         (shared_bytes_per_clock * gpu.clock.value()));
  const Seconds rescale = real(gpu.sms) * Flops(4.0 * real(tile.queries * dim)) / gpu.peak_vector;

  KernelTerms terms;
  terms.blocks = real(heads.q * prefill.batch);
  terms.compute = tiles / real(gpu.sms) * (time.mma + time.exponentials + exchange + rescale);
  terms.flops = Flops(4.0 * tiles * real(tile.queries * tile.keys * dim));
  terms.peak = attention_peak(gpu, prefill.kv_element);
  terms.fresh = past_bytes(heads, prefill);
  // Per tile Q read, O read and written; l and m (fp32) read and written. K and V once per q head.
  terms.bytes = Bytes(real(heads.q * prefill.batch) * real(2 * keys * dim * element) +
                      tiles * real(tile.queries * (3 * dim * element + 16)));
  return terms;
}

/// A product of `batch` matrices m × k · k × n as 128-row tiles over all SMs.
KernelTerms batched_product(const Datasheet& gpu, double batch, std::int64_t m, std::int64_t n,
                            std::int64_t k, Bytes bytes) {
  const double tiles = batch * real(ceil_div(m, 128)) * real(ceil_div(n, 128));
  const double waves = std::ceil(tiles / real(gpu.sms));
  const Flops tile(2.0 * 128.0 * 128.0 * real(k));
  return {0.0, waves * real(gpu.sms) * tile / gpu.peak_16bit, {}, bytes};
}

KernelCost naive_attention(const Gpu& gpu, const Heads& heads, const Prefill& prefill) {
  const std::int64_t q = prefill.new_tokens;
  const std::int64_t k = prefill.past_tokens + q;
  const double head_count = real(heads.q * prefill.batch);
  const Bytes scores(head_count * real(q) * real(k) * real(element));
  // Q and K read by the first product, V read and O written by the second.
  const Bytes operands(head_count * real(q + k) * real(heads.dim * element));
  // Under a causal mask frameworks add it to the scores first, in a pass of its own.
  const Bytes softmax = (prefill.causal ? 4.0 : 2.0) * scores;
  const KernelFit& product = fit_of(gpu.gemm, "bfloat16");
  const auto first = batched_product(gpu, head_count, q, k, heads.dim, scores + operands);
  const auto second = batched_product(gpu, head_count, q, heads.dim, k, scores + operands);
  KernelCost cost = roofline(gpu, fit_of(gpu.elementwise, "other"), {.bytes = softmax});
  cost.time += roofline(gpu, product, first).time + roofline(gpu, product, second).time;
  cost.flops = Flops(4.0 * head_count * real(q) * real(k) * real(heads.dim));
  cost.bytes = softmax + 2.0 * scores + 2.0 * operands;
  return cost;
}

}  // namespace

KernelTerms prefill_terms(const Datasheet& gpu, PrefillKernel kernel, const Heads& heads,
                          const Prefill& prefill) {
  TOKENLINE_CHECK(kernel != PrefillKernel::naive, "naive attention is three kernels");
  if (kernel == PrefillKernel::fa1) return first_flash_terms(gpu, heads, prefill);
  const bool overlapped = kernel == PrefillKernel::fa3;
  const PrefillTile tile{.keys = overlapped ? 128 : 64};
  return later_flash_terms(gpu, overlapped, tile, heads, prefill);
}

KernelTerms mixed_decode_terms(const Datasheet& gpu, PrefillKernel kernel, const Heads& heads,
                               const Decode& decode) {
  const Prefill each{.new_tokens = 1,
                     .past_tokens = ceil_div(decode.context, decode.sequences) - 1,
                     .batch = decode.sequences,
                     .kv_element = decode.kv_element};
  if (kernel != PrefillKernel::fa2) return prefill_terms(gpu, kernel, heads, each);
  // A paged cache is read by the kernel made for split contexts (flash_fwd_launch_template.h).
  const PrefillTile paged{.queries = 64,
                          .keys = std::clamp<std::int64_t>(16384 / heads.dim, 64, 256)};
  return later_flash_terms(gpu, /*overlapped=*/false, paged, heads, each);
}

KernelCost prefill_attention(const Gpu& gpu, PrefillKernel kernel, const Heads& heads,
                             const Prefill& prefill) {
  if (kernel == PrefillKernel::naive) return naive_attention(gpu, heads, prefill);
  return roofline(gpu, fit_of(gpu.prefill_attention, kv_precision(prefill.kv_element)),
                  prefill_terms(gpu, kernel, heads, prefill));
}

}  // namespace tokenline::hw
