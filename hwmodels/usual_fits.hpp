#pragma once

#include "hwmodels/gpu.hpp"

namespace tokenline::hw {

/// What kernels usually reach on GPUs that nobody measured: the medians of the constants fitted to
/// the calibrated GPUs of the catalog (hwmodels/README.md, Usual constants), with from_datasheet
/// set. 16-bit fits, experts under the first load, latent attention with its projections. Their
/// errors are the largest among those GPUs when each is priced with the medians of the others.
[[nodiscard]] KernelFit usual_gemm();
[[nodiscard]] KernelFit usual_prefill_attention();
[[nodiscard]] KernelFit usual_decode_attention();
[[nodiscard]] KernelFit usual_experts();
[[nodiscard]] KernelFit usual_mla_prefill();
[[nodiscard]] KernelFit usual_mla_decode();
[[nodiscard]] KernelFit usual_elementwise();
/// Of NCCL. Launch: time of the smallest payload measured; memory_efficiency: ring bytes of the
/// largest over the interconnect.
[[nodiscard]] KernelFit usual_collective();

}  // namespace tokenline::hw
