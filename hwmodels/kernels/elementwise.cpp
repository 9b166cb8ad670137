#include "hwmodels/kernels/elementwise.hpp"

namespace tokenline::hw {

KernelCost elementwise(const Gpu& gpu, Bytes bytes) {
  const Seconds memory = bytes / (gpu.bandwidth * gpu.elementwise.memory_efficiency);
  return {gpu.elementwise.launch + memory, Flops(0.0), bytes};
}

}  // namespace tokenline::hw
