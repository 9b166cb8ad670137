#include "hwmodels/kernels/kernel_cost.hpp"

namespace tokenline::hw {

KernelCost corrected(const Datasheet& gpu, const KernelFit& fit, const KernelTerms& terms,
                     const Correction& correction) {
  return corrected(gpu, terms, roofline(gpu, fit, terms), correction);
}

GridSlice slice_of(const KernelFit& fit, std::initializer_list<std::int64_t> shape) {
  return fit.grid ? fit.grid->slice({shape.begin(), shape.size()}) : GridSlice();
}

}  // namespace tokenline::hw
