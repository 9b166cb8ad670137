#pragma once

#include "hwmodels/gpu.hpp"

namespace tokenline::hw {

/// Time of an all-reduce of `payload` per rank: between two measured points a power law through
/// both (straight in log-log), below the first point its time, beyond the last its bandwidth.
[[nodiscard]] Seconds all_reduce(const AllReduceCurve& curve, Bytes payload);

}  // namespace tokenline::hw
