#pragma once

#include <cstdint>
#include <string_view>

#include "hwmodels/gpu.hpp"
#include "hwmodels/kernels/kernel_cost.hpp"

namespace tokenline::hw {

/// A kernel that streams `bytes_per_token` (read plus written) through HBM:
/// t = (launch + bytes / (bw · e_m)) · grid, by the fit of its name, or of "other". `gpu` must
/// outlive the pricer.
class ElementwisePricer {
 public:
  ElementwisePricer(const Gpu& gpu, std::string_view kernel, Bytes bytes_per_token);
  [[nodiscard]] KernelCost operator()(std::int64_t tokens) const;
  [[nodiscard]] const KernelFit& fit() const { return fit_; }

 private:
  const Gpu& gpu_;
  const KernelFit& fit_;
  Bytes bytes_per_token_;
  GridSlice slice_;
};

}  // namespace tokenline::hw
