#pragma once

#include "hwmodels/gpu.hpp"
#include "hwmodels/kernels/kernel_cost.hpp"

namespace tokenline::hw {

/// A kernel that streams `bytes` (read plus written) through HBM: t = launch + bytes / (bw · e_m).
[[nodiscard]] KernelCost elementwise(const Gpu& gpu, Bytes bytes);

}  // namespace tokenline::hw
