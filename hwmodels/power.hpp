#pragma once

#include <optional>

#include "hwmodels/gpu.hpp"
#include "sim/base/quantity.hpp"
#include "workloads/models/operators.hpp"

namespace tokenline::hw {

/// The draw of one GPU, linear in what it does (README.md, *Power*):
///   P = min(limit, idle + (limit − idle) · FLOP rate / sustained + (memory − idle) · byte rate /
///   bandwidth).
struct PowerModel {
  Watts limit;
  Watts idle;
  Watts memory;              ///< At full bandwidth and no FLOPs.
  FlopsPerSecond sustained;  ///< At which the limit is reached: what large products achieve.
  BytesPerSecond bandwidth;
  bool idle_measured = false;    ///< Else `usual_idle_share` of the limit.
  bool memory_measured = false;  ///< Else `usual_memory_share` of the limit.

  [[nodiscard]] Watts power(FlopsPerSecond flops, BytesPerSecond bytes) const;
};

/// H200: 80.3 of 700 W (hwmodels/datasheets/h200_sxm.yaml).
inline constexpr double usual_idle_share = 0.115;
/// H100: 355 of 700 W; H200: 300 of 700 W. A cap at half the limit does not slow decodes on H100
/// (Splitwise, ISCA 2024).
inline constexpr double usual_memory_share = 0.5;

/// Of a GPU that multiplies weights of `precision`; empty where its datasheet states no limit.
[[nodiscard]] std::optional<PowerModel> power_model(const Gpu& gpu, models::Precision precision);

/// What one GPU did in a stretch of time.
struct GpuWork {
  Seconds elapsed;
  Seconds busy;  ///< Of it, with a step on the GPU.
  Flops flops;
  Bytes bytes;
};

/// The integral of the power over that stretch: what the work takes above the idle draw is limited
/// over the busy time together.
[[nodiscard]] Joules energy(const PowerModel& model, const GpuWork& work);

}  // namespace tokenline::hw
