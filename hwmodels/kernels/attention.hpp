#pragma once

#include <cstdint>

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
  bool causal = true;
};

/// What a fused prefill kernel does, before any fitted constant.
struct PrefillTerms {
  double blocks = 0.0;  ///< Thread blocks.
  Seconds compute;  ///< At peak rates: the larger of the mean SM's work and the longest block's.
  Flops flops;
  Bytes bytes;
};

/// The tile accounts of the fused kernels. Exponentials run on the MUFU units.
///   fa1 (FlashAttention, arXiv 2205.14135, algorithm 1): one block per head; loops over K/V blocks
///     of SRAM / (8·dim) rows, each of which reads Q and reads and writes O, l and m; computes
///     every tile, masked or not; rescales O by division on the CUDA cores (4 FLOPs per element and
///     step). Matrix products (synchronous mma), exponentials and rescaling follow each other.
///   fa2 (FlashAttention-2, arXiv 2307.08691): one block per head and 128 queries, K/V blocks of
///   64;
///     fully masked blocks skipped; Q, K, V and O cross HBM once, K/V re-reads come from L2.
///     Synchronous mma, then exponentials.
///   fa3 (FlashAttention-3, arXiv 2407.08608): as fa2 with K/V blocks of 128, wgmma at full rate,
///     and exponentials under the matrix products of the other warp group: the larger of the two.
/// fa2 and fa3 also write the new K and V into the cache, which the measured rows include.
/// Contract: not for naive.
[[nodiscard]] PrefillTerms prefill_terms(const Datasheet& gpu, PrefillKernel kernel,
                                         const Heads& heads, const Prefill& prefill);

/// One layer's attention over a prompt. Fused kernels:
///   t = launch + block_overhead · blocks / SMs + compute / e_c + bytes / (bandwidth · e_m).
/// naive: three kernels, S = QKᵀ, softmax, PV, the products as 128-row tiles with the GEMM's
/// constants, the softmax with those of elementwise; nothing skipped. Its HBM bytes per head are
/// 8·q·k + (2·q·d + 2·k·d)·2 for q queries and k keys: S written and read, P written and read.
[[nodiscard]] KernelCost prefill_attention(const Gpu& gpu, PrefillKernel kernel, const Heads& heads,
                                           const Prefill& prefill);

/// `sequences` queries that read `context` KV tokens in all; lengths enter through their mean.
struct Decode {
  std::int64_t sequences = 0;
  std::int64_t context = 0;
};

/// What a decode kernel does, before any fitted constant.
struct DecodeTerms {
  double blocks = 0.0;
  Seconds compute;  ///< At peak rates.
  Flops flops;
  Bytes bytes;
};

/// The accounts of decode attention. A query tile is padded to 64 rows (kBlockM of
/// FlashAttention-2's split-KV kernel, csrc/flash_attn/src/flash_fwd_launch_template.h) whatever
/// the group of q heads.
///   plain: one block per sequence and kv head walks the whole context alone.
///   flash_decoding: contexts cut into parts of 256 tokens until two parts per SM keep all SMs
///   busy;
///     parts write (O, m, l) in fp32, a second kernel reads and merges them.
[[nodiscard]] DecodeTerms decode_terms(const Datasheet& gpu, DecodeKernel kernel,
                                       const Heads& heads, const Decode& decode);

/// One layer's attention of one query token per sequence:
///   t = launch + max(block_overhead · blocks / SMs, compute / e_c, bytes / (bandwidth · e_m))
/// with e_c of fused prefill. plain saves the launch of the merge kernel (elementwise.launch).
[[nodiscard]] KernelCost decode_attention(const Gpu& gpu, DecodeKernel kernel, const Heads& heads,
                                          const Decode& decode);

}  // namespace tokenline::hw
