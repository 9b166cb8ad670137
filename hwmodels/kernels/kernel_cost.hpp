#pragma once

#include <algorithm>
#include <limits>

#include "hwmodels/gpu.hpp"
#include "sim/base/quantity.hpp"

namespace tokenline::hw {

/// Bytes of a 16-bit value: activations, whatever the weights' precision.
inline constexpr double bytes_16bit = 2.0;

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
  Bytes fresh{};  ///< Of `bytes`, those that no cache keeps from step to step: weights and KV.
  /// The tensor cores' full rate for `flops`; infinite where there are none.
  FlopsPerSecond peak{std::numeric_limits<double>::infinity()};
};

/// More than the caches of any GPU hold, read and written: twice the 128 MB of the largest L2.
inline constexpr Bytes most_cached(256e6);

/// What no call in a serving step can be faster than: its FLOPs at peak, or its fresh bytes at the
/// full bandwidth of HBM. A kernel measured alone, again and again, can: its weights stay in L2.
[[nodiscard]] inline Seconds fastest(const Datasheet& gpu, const KernelTerms& terms) {
  return std::max(terms.flops / terms.peak, terms.fresh / gpu.bandwidth);
}

/// launch + block_overhead · blocks / SMs + max(compute / e_c, (bytes − apart) / (bandwidth · e_m))
/// + apart / (bandwidth · e_a).
[[nodiscard]] inline KernelCost roofline(const Datasheet& gpu, const KernelFit& fit,
                                         const KernelTerms& terms) {
  const Seconds blocks = terms.blocks / static_cast<double>(gpu.sms) * fit.block_overhead;
  const Seconds memory = (terms.bytes - terms.apart) / (gpu.bandwidth * fit.memory_efficiency);
  Seconds time = fit.launch + blocks + std::max(terms.compute / fit.compute_efficiency, memory);
  if (terms.apart.value() != 0.0) time += terms.apart / (gpu.bandwidth * fit.apart_efficiency);
  return {time, terms.flops, terms.bytes,
          fit.from_datasheet ? Provenance::datasheet : Provenance::fitted};
}

/// A price times what the grid says, which also decides the provenance: where that is not of
/// measurements, no less than fastest().
[[nodiscard]] inline KernelCost corrected(const Datasheet& gpu, const KernelTerms& terms,
                                          const KernelCost& cost, const Correction& correction) {
  const Seconds time = correction.factor * cost.time;
  if (correction.on_grid && cost.provenance != Provenance::datasheet)
    return {time, cost.flops, cost.bytes, Provenance::measured};
  return {std::max(time, fastest(gpu, terms)), cost.flops, cost.bytes, cost.provenance};
}
/// The same of roofline().
[[nodiscard]] KernelCost corrected(const Datasheet& gpu, const KernelFit& fit,
                                   const KernelTerms& terms, const Correction& correction);

/// The grid of a fit at one shape; a slice of no grid where the fit has none.
[[nodiscard]] GridSlice slice_of(const KernelFit& fit, std::initializer_list<std::int64_t> shape);

}  // namespace tokenline::hw
