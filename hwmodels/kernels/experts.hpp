#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hwmodels/gpu.hpp"
#include "hwmodels/kernels/kernel_cost.hpp"

namespace tokenline::hw {

/// The account of a layer's routed experts over `tokens` tokens of all groups, on one GPU. Tokens
/// choose experts at random: of E/expert local ones, E_l · (1 − e^(−rows / E_l)) are met by rows =
/// tokens · topk / expert, and only those read their three matrices. Rows of an expert are padded
/// to 16, the lowest tile of the fused kernels. Each row is read, passes gate and up, the
/// activation and down, and is written; the weighted sum reads it again. Fresh are the weights of
/// one token's experts alone: how many more are met is a matter of how tokens choose.
[[nodiscard]] KernelTerms expert_terms(const Datasheet& gpu, const models::ExpertLayers& layers,
                                       std::int64_t tokens);

/// The fit of a precision under a load, else under another load: the same kernel, if not as busy;
/// else "usual".
[[nodiscard]] const KernelFit& fit_of_load(const KernelFits& fits, std::string_view precision,
                                           std::string_view load);

/// expert_terms() priced by the fit of the layers' precision under an expert load ("balanced",
/// "power_law_1.2": how unevenly tokens choose, as the measurements name it). `gpu` must outlive
/// the pricer.
class ExpertPricer {
 public:
  ExpertPricer(const Gpu& gpu, const models::ExpertLayers& layers, std::string_view load);
  [[nodiscard]] KernelCost operator()(std::int64_t tokens) const;
  [[nodiscard]] const KernelFit& fit() const { return fit_; }

 private:
  const Gpu& gpu_;
  models::ExpertLayers layers_;
  const KernelFit& fit_;
  bool measured_ = false;  ///< The fit is of this very precision and load.
  GridSlice slice_;
};

}  // namespace tokenline::hw
