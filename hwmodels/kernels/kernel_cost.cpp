#include "hwmodels/kernels/kernel_cost.hpp"

#include <algorithm>

namespace tokenline::hw {

KernelCost roofline(const Datasheet& gpu, const KernelFit& fit, const KernelTerms& terms) {
  const Seconds blocks = terms.blocks / static_cast<double>(gpu.sms) * fit.block_overhead;
  const Seconds memory = (terms.bytes - terms.apart) / (gpu.bandwidth * fit.memory_efficiency);
  return {fit.launch + blocks + std::max(terms.compute / fit.compute_efficiency, memory) +
              terms.apart / (gpu.bandwidth * fit.apart_efficiency),
          terms.flops, terms.bytes,
          fit.from_datasheet ? Provenance::datasheet : Provenance::fitted};
}

Seconds fastest(const Datasheet& gpu, const KernelTerms& terms) {
  return std::max(terms.flops / terms.peak, terms.fresh / gpu.bandwidth);
}

KernelCost corrected(const Datasheet& gpu, const KernelTerms& terms, const KernelCost& cost,
                     const Correction& correction) {
  const Seconds time = correction.factor * cost.time;
  if (correction.on_grid && cost.provenance != Provenance::datasheet)
    return {time, cost.flops, cost.bytes, Provenance::measured};
  return {std::max(time, fastest(gpu, terms)), cost.flops, cost.bytes, cost.provenance};
}

KernelCost corrected(const Datasheet& gpu, const KernelFit& fit, const KernelTerms& terms,
                     const Correction& correction) {
  return corrected(gpu, terms, roofline(gpu, fit, terms), correction);
}

GridSlice slice_of(const KernelFit& fit, std::initializer_list<std::int64_t> shape) {
  return fit.grid ? fit.grid->slice({shape.begin(), shape.size()}) : GridSlice();
}

}  // namespace tokenline::hw
