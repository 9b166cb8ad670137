#pragma once

#include <cstdint>
#include <vector>

#include "hwmodels/gpu.hpp"
#include "hwmodels/kernels/attention.hpp"
#include "hwmodels/kernels/gemm.hpp"

namespace tokenline::calib::microbench {

/// How much is measured: quick for some minutes, full for grids as fine as those of calib/data.
enum class Extent { quick, full };

/// One attention call over sequences of one length, keys and values of 16 bit.
struct AttentionCall {
  hw::Heads heads;
  std::int64_t batch = 0;   ///< Sequences.
  std::int64_t length = 0;  ///< Tokens of each: of the prompt, or of the context of a decode.
};

/// The calls to measure on one GPU, each once.
struct Grid {
  std::vector<hw::GemmShape> gemm;
  std::vector<AttentionCall> prefill;
  std::vector<AttentionCall> decode;
};

/// The calls whose operands fit into half of the GPU's memory, so that a second set of them can
/// keep a call out of what the one before left in the L2. Products with 8-bit weights where its
/// tensor cores take them. Shapes are those of one GPU's shard of Llama-3.1-8B (tensor parallelism
/// 1, 2), Llama-3.1-70B (8, 4) and Llama-2-7B (1); full adds weights, heads, and sizes just beyond
/// a tile. At least five shapes of each kernel, as many as calibration holds one out of.
[[nodiscard]] Grid grid(const hw::Datasheet& gpu, Extent extent);

/// What measuring takes by the prices of `gpu`: every call of the grid as often as repetitions()
/// says. Allocating, checking results and choosing algorithms come on top.
[[nodiscard]] Seconds measuring_time(const hw::Gpu& gpu, const Grid& grid);

/// How often a call that takes `expected` is timed: for 50 ms, at least 11 times (a median with
/// five on each side), at most 201.
[[nodiscard]] std::int64_t repetitions(Seconds expected);

}  // namespace tokenline::calib::microbench
