#include <algorithm>
#include <cmath>
#include <utility>

#include "hwmodels/kernels/attention.hpp"
#include "sim/base/check.hpp"

namespace tokenline::hw {
namespace {

constexpr std::int64_t element = 2;  ///< Bytes of a 16-bit value.
constexpr std::int64_t query_block = 128;

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr double real(std::int64_t value) { return static_cast<double>(value); }

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

/// K/V blocks met by all query blocks of one group of heads, and by the last of them, when fully
/// masked ones are skipped. A query block holds 128 rows; a query has `group` rows, one per head.
struct BlockCount {
  std::int64_t query_blocks = 0;
  double total = 0.0;
  double longest = 0.0;
};

BlockCount count_blocks(const Prefill& prefill, std::int64_t group, std::int64_t key_block) {
  const std::int64_t blocks = ceil_div(prefill.new_tokens * group, query_block);
  const std::int64_t all = ceil_div(prefill.past_tokens + prefill.new_tokens, key_block);
  if (!prefill.causal) return {blocks, real(blocks * all), real(all)};
  // Block i ends with row 128·(i+1), hence with key past + 128·(i+1) / group, rounded up; the last
  // block with the last key.
  const std::int64_t divisor = key_block * group;
  const std::int64_t before = floor_sum(blocks - 1, divisor, query_block,
                                        prefill.past_tokens * group + query_block + divisor - 1);
  return {blocks, real(before + all), real(all)};
}

PrefillTerms later_flash_terms(const Datasheet& gpu, PrefillKernel kernel, const Heads& heads,
                               const Prefill& prefill) {
  const bool overlapped = kernel == PrefillKernel::fa3;
  const std::int64_t key_block = overlapped ? 128 : 64;
  // vLLM passes ragged batches, for which FlashAttention-3 packs the q heads of a kv head into one
  // query block (PackGQA, hopper/heuristics.h).
  const std::int64_t group = overlapped ? heads.q / heads.kv : 1;
  const double head_count = real(heads.q / group * prefill.batch);
  const double elements = real(query_block * key_block);
  const TileTime time = tile_time(gpu, !overlapped, elements, heads.dim);
  const Seconds tile =
      overlapped ? std::max(time.mma, time.exponentials) : time.mma + time.exponentials;
  const BlockCount count = count_blocks(prefill, group, key_block);
  const std::int64_t keys = prefill.past_tokens + prefill.new_tokens;

  PrefillTerms terms;
  terms.blocks = head_count * real(count.query_blocks);
  terms.compute = std::max(head_count / real(gpu.sms) * count.total, count.longest) * tile;
  terms.flops = Flops(4.0 * head_count * count.total * elements * real(heads.dim));
  // Q and O; K and V read by attention, and the new ones read and written by the cache update.
  const std::int64_t rows =
      2 * heads.q * prefill.new_tokens + 2 * heads.kv * (keys + 2 * prefill.new_tokens);
  terms.bytes = Bytes(real(prefill.batch) * real(rows) * real(heads.dim * element));
  return terms;
}

PrefillTerms first_flash_terms(const Datasheet& gpu, const Heads& heads, const Prefill& prefill) {
  const std::int64_t dim = heads.dim;
  const std::int64_t queries = prefill.new_tokens;
  const std::int64_t keys = prefill.past_tokens + queries;
  const auto fitting =
      static_cast<std::int64_t>(gpu.shared_memory_per_sm.value()) / (4 * dim * element) / 16 * 16;
  const std::int64_t key_block = std::clamp<std::int64_t>(fitting, 16, 256);
  const std::int64_t steps = ceil_div(keys, key_block);
  const std::int64_t padded = ceil_div(queries, query_block) * query_block;
  const double head_count = real(heads.q * prefill.batch);

  const double elements = real(padded) * real(steps * key_block);
  const TileTime time = tile_time(gpu, /*synchronous=*/true, elements, dim);
  const Seconds rescale =
      real(gpu.sms) * Flops(4.0 * real(steps) * real(padded * dim)) / gpu.peak_vector;
  const Seconds head = time.mma + time.exponentials + rescale;

  PrefillTerms terms;
  terms.blocks = head_count;
  terms.compute = std::max(head_count / real(gpu.sms), 1.0) * head;
  terms.flops = Flops(4.0 * head_count * elements * real(dim));
  // Per step Q read, O read and written; l and m (fp32) read and written. K and V once per q head.
  const double per_step = real(queries) * real(3 * dim * element + 16);
  terms.bytes = Bytes(head_count * (real(2 * keys) * real(dim * element) + real(steps) * per_step));
  return terms;
}

/// A product of `batch` matrices m × k · k × n as 128-row tiles over all SMs.
Seconds batched_product(const Gpu& gpu, double batch, std::int64_t m, std::int64_t n,
                        std::int64_t k, Bytes bytes) {
  const double tiles = batch * real(ceil_div(m, 128)) * real(ceil_div(n, 128));
  const double waves = std::ceil(tiles / real(gpu.sms));
  const Flops tile(2.0 * 128.0 * 128.0 * real(k));
  const Seconds compute = waves * real(gpu.sms) * tile / gpu.peak_16bit;
  const Seconds memory = bytes / (gpu.bandwidth * gpu.gemm.memory_efficiency);
  return gpu.gemm.launch + std::max(compute / gpu.gemm.compute_efficiency, memory);
}

KernelCost naive_attention(const Gpu& gpu, const Heads& heads, const Prefill& prefill) {
  const std::int64_t q = prefill.new_tokens;
  const std::int64_t k = prefill.past_tokens + q;
  const double head_count = real(heads.q * prefill.batch);
  const Bytes scores(head_count * real(q) * real(k) * real(element));
  // Q and K read by the first product, V read and O written by the second.
  const Bytes operands(head_count * real(q + k) * real(heads.dim * element));
  const Bytes softmax = 2.0 * scores;
  const Seconds softmax_time =
      gpu.elementwise.launch + softmax / (gpu.bandwidth * gpu.elementwise.memory_efficiency);
  return {batched_product(gpu, head_count, q, k, heads.dim, scores + operands) + softmax_time +
              batched_product(gpu, head_count, q, heads.dim, k, scores + operands),
          Flops(4.0 * head_count * real(q) * real(k) * real(heads.dim)),
          softmax + 2.0 * scores + 2.0 * operands};
}

}  // namespace

PrefillTerms prefill_terms(const Datasheet& gpu, PrefillKernel kernel, const Heads& heads,
                           const Prefill& prefill) {
  TOKENLINE_CHECK(kernel != PrefillKernel::naive, "naive attention is three kernels");
  return kernel == PrefillKernel::fa1 ? first_flash_terms(gpu, heads, prefill)
                                      : later_flash_terms(gpu, kernel, heads, prefill);
}

KernelCost prefill_attention(const Gpu& gpu, PrefillKernel kernel, const Heads& heads,
                             const Prefill& prefill) {
  if (kernel == PrefillKernel::naive) return naive_attention(gpu, heads, prefill);
  const PrefillTerms terms = prefill_terms(gpu, kernel, heads, prefill);
  const PrefillFit& fit = gpu.prefill_attention;
  const Seconds memory = terms.bytes / (gpu.bandwidth * fit.memory_efficiency);
  return {fit.launch + terms.blocks / real(gpu.sms) * fit.block_overhead +
              terms.compute / fit.compute_efficiency + memory,
          terms.flops, terms.bytes};
}

}  // namespace tokenline::hw
