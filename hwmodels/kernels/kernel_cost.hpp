#pragma once

#include "hwmodels/gpu.hpp"
#include "sim/base/quantity.hpp"

namespace tokenline::hw {

/// What one kernel (or a group of kernels) takes on one GPU.
struct KernelCost {
  Seconds time;
  Flops flops;  ///< On tensor cores, as executed: masked parts count where they are computed.
  Bytes bytes;  ///< From and to HBM.
  Provenance provenance = Provenance::measured;
};

/// What a kernel does, before any fitted constant.
struct KernelTerms {
  double blocks = 0.0;  ///< Thread blocks, where they cost more than their work.
  Seconds compute{};    ///< At peak rates, on the busiest SM.
  Flops flops{};
  Bytes bytes{};
  Bytes apart{};  ///< Of `bytes`, those that another kernel of the call moves by itself.
};

/// launch + block_overhead · blocks / SMs + max(compute / e_c, (bytes − apart) / (bandwidth · e_m))
/// + apart / (bandwidth · e_a).
[[nodiscard]] KernelCost roofline(const Datasheet& gpu, const KernelFit& fit,
                                  const KernelTerms& terms);

/// roofline() times what the grid says, which also decides the provenance.
[[nodiscard]] KernelCost corrected(const Datasheet& gpu, const KernelFit& fit,
                                   const KernelTerms& terms, const Correction& correction);

/// The grid of a fit at one shape; a slice of no grid where the fit has none.
[[nodiscard]] GridSlice slice_of(const KernelFit& fit, std::initializer_list<std::int64_t> shape);

}  // namespace tokenline::hw
