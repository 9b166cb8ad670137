#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "hwmodels/gpu.hpp"

namespace tokenline::hw {

/// Round numbers: 100 SMs of 1 TFLOP/s (2 at fp8), 1 TB/s, 10 exponentials per ns and SM.
inline Datasheet round_sheet() {
  Datasheet sheet;
  sheet.sms = 100;
  sheet.peak_16bit = FlopsPerSecond(100e12);
  sheet.peak_8bit = FlopsPerSecond(200e12);
  sheet.peak_vector = FlopsPerSecond(10e12);
  sheet.bandwidth = BytesPerSecond(1e12);
  sheet.clock = PerSecond(1e9);
  sheet.exponentials_per_clock = 10.0;
  sheet.shared_memory_per_sm = Bytes(228.0 * 1024.0);
  sheet.gpus_per_node = 8;
  return sheet;
}

/// Everything at 100 %, nothing for a launch.
inline KernelFit ideal_fit() { return {}; }

/// Launch 3 µs, blocks 2 µs, half of the compute peak, four fifths of the bandwidth.
inline KernelFit usual_fit() {
  KernelFit fit;
  fit.launch = Seconds(3e-6);
  fit.block_overhead = Seconds(2e-6);
  fit.compute_efficiency = 0.5;
  fit.memory_efficiency = 0.8;
  return fit;
}

/// The same with a grid whose only point of one shape is `ratio`.
inline KernelFit with_grid(KernelFit fit, std::vector<std::string> shape_names,
                           std::vector<GridAxis> axes, const std::vector<std::int64_t>& shape,
                           double ratio) {
  ResidualGrid grid(std::move(shape_names), axes);
  std::vector<std::int64_t> point;
  for (const GridAxis& axis : axes) point.push_back(axis.values.front());
  grid.add(shape, point, ratio);
  fit.grid = std::make_shared<const ResidualGrid>(std::move(grid));
  return fit;
}

/// A GPU of round numbers whose every kernel has one fit, at 16 bit and for all that was not
/// measured.
inline Gpu round_gpu(const KernelFit& fit) {
  Gpu gpu;
  static_cast<Datasheet&>(gpu) = round_sheet();
  gpu.name = "round";
  for (KernelFits* fits : {&gpu.gemm, &gpu.prefill_attention, &gpu.decode_attention})
    fits->emplace("bfloat16", fit);
  gpu.experts.emplace("bfloat16 balanced", fit);
  gpu.mla_prefill.emplace("bfloat16 bfloat16", fit);
  gpu.mla_decode.emplace("bfloat16 bfloat16", fit);
  gpu.elementwise.emplace("other", fit);
  for (KernelFits* fits : {&gpu.gemm, &gpu.prefill_attention, &gpu.decode_attention, &gpu.experts,
                           &gpu.mla_prefill, &gpu.mla_decode, &gpu.elementwise})
    fits->emplace("usual", fit);
  return gpu;
}

}  // namespace tokenline::hw
