#pragma once

#include <cstdint>
#include <string>

#include "hwmodels/gpu.hpp"
#include "hwmodels/kernels/kernel_cost.hpp"

namespace tokenline::hw {

/// The account of one layer of multi-head latent attention over `batch` chunks of `new_tokens`
/// after `past_tokens`: the projections (q down and up, kv down, kv up for past and new tokens
/// alike, o) and causal attention over heads of nope + rope and v. `projections` false leaves the
/// attention alone.
[[nodiscard]] KernelTerms mla_prefill_terms(const Datasheet& gpu,
                                            const models::LatentAttentionLayers& layers,
                                            std::int64_t batch, std::int64_t new_tokens,
                                            std::int64_t past_tokens, std::int64_t kv_element,
                                            bool projections);

/// The same for one token of each of `sequences`, which read `context` latents in all, kv up
/// absorbed into q and o: queries and sums of r_kv + rope and r_kv per head.
[[nodiscard]] KernelTerms mla_decode_terms(const Datasheet& gpu,
                                           const models::LatentAttentionLayers& layers,
                                           std::int64_t sequences, std::int64_t context,
                                           std::int64_t kv_element, bool projections);

/// Both, priced by the fits of the precisions of KV cache and projections. Where only attention was
/// measured, the projections are added at the efficiencies of products. `gpu` must outlive the
/// pricer.
class MlaPricer {
 public:
  MlaPricer(const Gpu& gpu, const models::LatentAttentionLayers& layers, std::int64_t kv_element);

  [[nodiscard]] KernelCost prefill(std::int64_t new_tokens, std::int64_t past_tokens,
                                   std::int64_t batch = 1) const;
  [[nodiscard]] KernelCost decode(std::int64_t sequences, std::int64_t context) const;
  [[nodiscard]] const FitError& prefill_error() const { return prefill_.fit->error; }
  [[nodiscard]] const FitError& decode_error() const { return decode_.fit->error; }

 private:
  struct Fit {
    const KernelFit* fit = nullptr;
    bool exact = false;        ///< Of these very precisions.
    bool projections = false;  ///< Were measured with the attention.
    GridSlice slice;
  };
  [[nodiscard]] Fit choose(const KernelFits& fits) const;
  [[nodiscard]] KernelCost price(const Fit& fit, const KernelTerms& terms, double batch,
                                 double length, const KernelTerms& whole) const;

  const Gpu& gpu_;
  models::LatentAttentionLayers layers_;
  std::int64_t kv_element_;
  Fit prefill_;
  Fit decode_;
};

}  // namespace tokenline::hw
