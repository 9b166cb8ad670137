#pragma once

#include <array>
#include <cstdint>

#include "hwmodels/gpu.hpp"
#include "hwmodels/kernels/kernel_cost.hpp"

namespace tokenline::hw {

/// Activations m × k times weights k × n, 16-bit elements, fp32 accumulation.
struct GemmShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
};

/// (m·k + k·n + m·n) · 2 B: each matrix crosses HBM once.
[[nodiscard]] Bytes gemm_bytes(const GemmShape& shape);

/// The shortest time of the product at peak_16bit when the result is cut into tiles and tiles fill
/// whole waves of SMs: min over tile shapes (64×64 … 256×128) and split-k factors (1 … 16, parts of
/// at least 256) of waves · tile time. A split also writes and reads its fp32 parts.
[[nodiscard]] Seconds gemm_tile_time(const Datasheet& gpu, const GemmShape& shape);

/// t = launch + max(tile time / e_c, bytes / (bandwidth · e_m)).
[[nodiscard]] KernelCost gemm(const Gpu& gpu, const GemmShape& shape);

/// gemm() over many m of one n × k: all tiles are multiples of 64 rows high, so that the search
/// over them is repeated only when m enters the next 64. `gpu` must outlive the pricer.
class GemmPricer {
 public:
  GemmPricer(const Gpu& gpu, std::int64_t n, std::int64_t k);
  [[nodiscard]] KernelCost operator()(std::int64_t m);

 private:
  const Gpu& gpu_;
  std::int64_t n_;
  std::int64_t k_;
  std::int64_t bucket_ = 0;
  std::array<Seconds, 5> by_split_;  ///< Of tiles alone, for k split 1, 2, 4, 8 and 16 ways.
};

}  // namespace tokenline::hw
