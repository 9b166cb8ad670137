#pragma once

#include "sim/base/quantity.hpp"

namespace tokenline::hw {

/// What one kernel (or a group of kernels) takes on one GPU.
struct KernelCost {
  Seconds time;
  Flops flops;  ///< On tensor cores, as executed: masked parts count where they are computed.
  Bytes bytes;  ///< From and to HBM.
};

}  // namespace tokenline::hw
