#pragma once

#include <cstdint>

#include "hwmodels/gpu.hpp"
#include "hwmodels/kernels/attention.hpp"
#include "hwmodels/kernels/kernel_cost.hpp"

namespace tokenline::hw {

/// Attention of one model's layer on one GPU, the grids cut at its heads: what a simulated step
/// calls. Beyond the grids, and for kernels that were not measured, the rooflines stand alone.
/// `gpu` must outlive the pricer.
class AttentionPricer {
 public:
  AttentionPricer(const Gpu& gpu, PrefillKernel prefill_kernel, DecodeKernel decode_kernel,
                  const Heads& heads, std::int64_t kv_element);

  [[nodiscard]] KernelCost prefill(std::int64_t new_tokens, std::int64_t past_tokens,
                                   std::int64_t batch = 1) const;
  [[nodiscard]] KernelCost decode(std::int64_t sequences, std::int64_t context) const;
  /// What the decodes of a step with prefill chunks add.
  [[nodiscard]] KernelCost mixed_decode(std::int64_t sequences, std::int64_t context) const;
  [[nodiscard]] const FitError& prefill_error() const { return prefill_fit_.error; }
  [[nodiscard]] const FitError& decode_error() const { return decode_fit_.error; }

 private:
  const Gpu& gpu_;
  PrefillKernel prefill_kernel_;
  DecodeKernel decode_kernel_;
  Heads heads_;
  std::int64_t kv_element_;
  const KernelFit& prefill_fit_;
  const KernelFit& decode_fit_;
  const KernelFit* chunked_fit_;  ///< Null where `prefill_kernel_` was not measured after past KV.
  const KernelFit* mixed_fit_;    ///< Null where decodes beside chunks were not measured.
  GridSlice prefill_;
  GridSlice chunked_;
  GridSlice decode_;
  Seconds merge_launch_;  ///< That a kernel which does not split saves.
  GridSlice mixed_;
};

}  // namespace tokenline::hw
