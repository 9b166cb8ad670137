#pragma once

#include <cstdint>

#include "hwmodels/gpu.hpp"
#include "hwmodels/kernels/kernel_cost.hpp"

namespace tokenline::hw {

/// Time of a collective with `payload` per rank: between two measured points a power law through
/// both (straight in log-log), below the first point its time, beyond the last its bandwidth.
[[nodiscard]] Seconds collective(const CollectiveCurve& curve, Bytes payload);

/// Bytes that each rank of a ring receives, per byte of payload (the whole tensor for all-reduce, a
/// rank's own part for the others): 2(n − 1)/n, n − 1, n − 1, (n − 1)/n, 1.
[[nodiscard]] double ring_factor(models::CollectiveOp op, std::int64_t gpus);

/// Prices one operation over some GPUs of a node: by vLLM's custom all-reduce inside a CUDA graph
/// where that was measured, else by NCCL, else by latency + ring bytes / (interconnect · e). `gpu`
/// must outlive the pricer.
class CollectivePricer {
 public:
  /// Contract: priced().
  CollectivePricer(const Gpu& gpu, models::CollectiveOp op, std::int64_t gpus);
  /// Whether there is a curve, or an interconnect in the datasheet.
  [[nodiscard]] static bool priced(const Gpu& gpu, models::CollectiveOp op, std::int64_t gpus);

  [[nodiscard]] KernelCost operator()(Bytes payload) const;
  [[nodiscard]] const FitError& error() const;

 private:
  const Gpu& gpu_;
  models::CollectiveOp op_;
  std::int64_t gpus_;
  const CollectiveCurve* curve_;
};

}  // namespace tokenline::hw
