#pragma once

#include <array>
#include <cstdint>

#include "hwmodels/gpu.hpp"
#include "hwmodels/kernels/kernel_cost.hpp"

namespace tokenline::hw {

/// How the input of an fp8 product becomes fp8.
enum class InputQuantization {
  dynamic,    ///< With scales of its values, by the kernel that the measured calls include (vLLM).
  streaming,  ///< With static scales, by a plain streaming kernel (TensorRT-LLM's PyTorch backend).
  fused,      ///< With static scales, by the kernel before (TensorRT-LLM's engines).
};

/// Activations m × k times weights k × n, fp32 accumulation, 16-bit result.
struct GemmShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  models::Precision precision = models::Precision::bfloat16;
  InputQuantization input = InputQuantization::dynamic;
};

/// Bytes of one weight: 2, 1 (fp8), or 17/32 (mxfp4). Scales of fp8_block (4 B per 16,384 weights)
/// are not counted.
[[nodiscard]] double weight_bytes_per_element(models::Precision precision);

/// Each matrix crosses HBM once: activations at 16 bit, or 8 where weights are fp8; the result at
/// 16. The quantisation of the input is not among them.
[[nodiscard]] Bytes gemm_bytes(const GemmShape& shape);

/// The shortest time of the product at peak when the result is cut into tiles and tiles fill whole
/// waves of SMs: min over tile shapes (64×64 … 256×128) and split-k factors (1 … 16, parts of at
/// least 256) of waves · tile time. A split also writes and reads its fp32 parts.
[[nodiscard]] Seconds gemm_tile_time(const Datasheet& gpu, const GemmShape& shape);

/// The account of a product.
[[nodiscard]] KernelTerms gemm_terms(const Datasheet& gpu, const GemmShape& shape);

/// One product, by the fit of its precision.
[[nodiscard]] KernelCost gemm(const Gpu& gpu, const GemmShape& shape);

/// gemm() over many m of one n × k: the grid is cut once, and all tiles are multiples of 64 rows
/// high, so that the search over them is repeated only when m enters the next 64. `gpu` must
/// outlive the pricer.
class GemmPricer {
 public:
  GemmPricer(const Gpu& gpu, std::int64_t n, std::int64_t k, models::Precision precision,
             InputQuantization input = InputQuantization::dynamic);
  [[nodiscard]] KernelCost operator()(std::int64_t m);
  [[nodiscard]] const KernelFit& fit() const { return fit_; }

 private:
  const Gpu& gpu_;
  const KernelFit& fit_;
  GemmShape shape_;
  GridSlice slice_;
  Seconds dynamic_launch_;  ///< Of dynamic quantisation.
  std::int64_t bucket_ = 0;
  std::array<Seconds, 5> by_split_;  ///< Of tiles alone, for k split 1, 2, 4, 8 and 16 ways.
};

}  // namespace tokenline::hw
