#include "hwmodels/usual_fits.hpp"

namespace tokenline::hw {
namespace {

KernelFit usual(Seconds launch, Seconds block_overhead, double compute, double memory,
                FitError error) {
  return {.launch = launch,
          .block_overhead = block_overhead,
          .compute_efficiency = compute,
          .memory_efficiency = memory,
          .from_datasheet = true,
          .roofline_error = error,
          .error = error,
          .grid = nullptr};
}

}  // namespace

KernelFit usual_gemm() { return usual(Seconds(2.8e-6), Seconds(0.0), 0.81, 0.84, {0.23, 0.54}); }

KernelFit usual_prefill_attention() {
  KernelFit fit = usual(Seconds(8.5e-6), Seconds(3.7e-6), 0.64, 1.0, {0.68, 1.48});
  fit.apart_efficiency = 0.53;
  return fit;
}

KernelFit usual_decode_attention() {
  return usual(Seconds(10.7e-6), Seconds(2.6e-6), 1.0, 0.93, {0.24, 0.74});
}

KernelFit usual_experts() { return usual(Seconds(37e-6), Seconds(0.0), 0.46, 0.82, {0.39, 0.78}); }

KernelFit usual_mla_prefill() {
  return usual(Seconds(104e-6), Seconds(0.0), 0.55, 1.0, {0.11, 0.24});
}

KernelFit usual_mla_decode() {
  return usual(Seconds(85e-6), Seconds(2.2e-6), 0.34, 0.90, {0.19, 0.63});
}

KernelFit usual_elementwise() {
  return usual(Seconds(2.2e-6), Seconds(0.0), 1.0, 0.94, {1.5, 2.5});
}

KernelFit usual_collective() {
  return usual(Seconds(8.2e-6), Seconds(0.0), 1.0, 0.90, {0.46, 2.0});
}

}  // namespace tokenline::hw
