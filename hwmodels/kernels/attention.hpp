#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "hwmodels/gpu.hpp"
#include "hwmodels/kernels/kernel_cost.hpp"

namespace tokenline::hw {

/// Heads on one GPU; q heads share kv heads in groups (GQA, MQA) or have one each (MHA).
struct Heads {
  std::int64_t q = 0;
  std::int64_t kv = 0;
  std::int64_t dim = 0;
};

/// Prefill of `batch` equal prompts: `new_tokens` queries against `past_tokens` + `new_tokens`
/// keys.
struct Prefill {
  std::int64_t new_tokens = 0;
  std::int64_t past_tokens = 0;
  std::int64_t batch = 1;
  std::int64_t kv_element = 2;  ///< Bytes of a value in the KV cache.
  bool causal = true;
  bool cache_update = true;  ///< The call first writes the new K and V into the cache.
};

/// The tile accounts of the fused kernels. Exponentials run on the MUFU units. All skip tiles that
/// a causal mask covers, and cut what is left evenly over the SMs as far as their blocks allow.
///   fa1 (FlashAttention, arXiv 2205.14135, algorithm 1): loops over K/V blocks of SRAM / (8·dim)
///   rows
///     (a power of two), each of which reads Q and reads and writes O, l and m; its warps share K
///     and V out and sum through shared memory (arXiv 2307.08691, section 3.3), and O is divided
///     and scaled on the CUDA cores (4 FLOPs per element and tile). All of it one after the other.
///     The published algorithm gives a head to one block; released code splits long sequences too,
///     and that is priced.
///   fa2 (FlashAttention-2, arXiv 2307.08691): one block per head and 128 queries, K/V blocks of
///   64; Q,
///     K, V and O cross HBM once, K/V re-reads come from L2. Synchronous mma, then exponentials;
///     where two blocks fit an SM, one computes while the other does not.
///   fa3 (FlashAttention-3, arXiv 2407.08608): as fa2 with K/V blocks of 128, wgmma at full rate,
///   and
///     exponentials under the matrix products of the other warp group: the larger of the two.
/// fa2 and fa3 also write the new K and V into the cache, which the measured rows include.
/// Contract: not for naive.
[[nodiscard]] KernelTerms prefill_terms(const Datasheet& gpu, PrefillKernel kernel,
                                        const Heads& heads, const Prefill& prefill);

/// One layer's attention over a prompt, roofline alone. Fused kernels use the fit of the KV cache's
/// precision.
/// naive: three kernels, S = QKᵀ, softmax, PV, the products as 128-row tiles with the GEMM's
/// constants, the softmax with those of elementwise; nothing skipped. Its HBM bytes per head are
/// 8·q·k + (2·q·d + 2·k·d)·2 for q queries and k keys: S written and read, P written and read; a
/// causal mask is added in a pass of its own, 4·q·k more.
[[nodiscard]] KernelCost prefill_attention(const Gpu& gpu, PrefillKernel kernel, const Heads& heads,
                                           const Prefill& prefill);

/// `sequences` queries that read `context` KV tokens in all; lengths enter through their mean.
struct Decode {
  std::int64_t sequences = 0;
  std::int64_t context = 0;
  std::int64_t kv_element = 2;  ///< Bytes of a value in the KV cache.
};

/// The accounts of decode attention. A query tile is padded to 64 rows (kBlockM of
/// FlashAttention-2's split-KV kernel, csrc/flash_attn/src/flash_fwd_launch_template.h) whatever
/// the group of q heads.
///   plain: one block per sequence and kv head walks the whole context alone.
///   flash_decoding: contexts cut into parts of 256 tokens until two parts per SM keep all SMs
///   busy;
///     parts write (O, m, l) in fp32, a second kernel reads and merges them.
[[nodiscard]] KernelTerms decode_terms(const Datasheet& gpu, DecodeKernel kernel,
                                       const Heads& heads, const Decode& decode);

/// One layer's attention of one query token per sequence, roofline alone. plain saves the launch of
/// the merge kernel (that of a streaming kernel).
[[nodiscard]] KernelCost decode_attention(const Gpu& gpu, DecodeKernel kernel, const Heads& heads,
                                          const Decode& decode);

/// The launch of the kernel that merges split contexts, which a fit of FlashDecoding holds and a
/// kernel that does not split saves; zero for the others.
[[nodiscard]] Seconds merge_launch(const Gpu& gpu, DecodeKernel kernel, const KernelFit& fit);

/// What decodes add to a call that also holds prefill chunks. One kernel then serves all rows as it
/// serves prompts: a decode is a prompt of one token after `context` − 1, its query tile padded,
/// its context not split, and before FlashAttention-3 q heads that share kv heads are not packed
/// together (vLLM's FlashAttention-2 swaps query heads and rows only where no sequence has a longer
/// query; it reads a paged cache in tiles of 64 query rows).
[[nodiscard]] KernelTerms mixed_decode_terms(const Datasheet& gpu, PrefillKernel kernel,
                                             const Heads& heads, const Decode& decode);

/// The sizes by which the grids of attention know a shape: head_dim, q_heads, kv_heads, and 16 or
/// 1: whether q heads share kv heads, which FlashAttention-2 treats by another kernel.
[[nodiscard]] std::array<std::int64_t, 4> attention_shape(const Heads& heads);

/// The highest rate at which attention over such a KV cache may multiply: FlashAttention-3 takes
/// fp8 as it is, other kernels widen it.
[[nodiscard]] FlopsPerSecond attention_peak(const Datasheet& gpu, std::int64_t kv_element);

/// "bfloat16" or "fp8", the key of the fits for a KV cache of 2 or 1 bytes per value.
[[nodiscard]] std::string_view kv_precision(std::int64_t kv_element);

}  // namespace tokenline::hw
