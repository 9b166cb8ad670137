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

KernelCost corrected(const Datasheet& gpu, const KernelFit& fit, const KernelTerms& terms,
                     const Correction& correction) {
  KernelCost cost = roofline(gpu, fit, terms);
  cost.time *= correction.factor;
  if (correction.on_grid) cost.provenance = Provenance::measured;
  return cost;
}

GridSlice slice_of(const KernelFit& fit, std::initializer_list<std::int64_t> shape) {
  return fit.grid ? fit.grid->slice({shape.begin(), shape.size()}) : GridSlice();
}

}  // namespace tokenline::hw
