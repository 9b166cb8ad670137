#pragma once

#include <cstdint>

#include "sim/engine/engine_config.hpp"

namespace tokenline {

/// The HBM of one GPU of a replica, shared out: weights + non-torch + activations + KV pool.
struct MemoryPlan {
  Bytes capacity;  ///< As the driver reports it.
  Bytes budget;    ///< capacity · gpu_memory_utilization.
  Bytes weights;
  Bytes non_torch;
  Bytes activation_peak;  ///< Of a step at every limit of the engine.
  Bytes block;            ///< One KV block on one GPU.
  std::int64_t blocks = 0;

  /// HBM in use in a step; the pool counts whole when it is reserved, by its used blocks when not.
  [[nodiscard]] Bytes in_use(KvSizing sizing, std::int64_t used_blocks, Bytes activations) const {
    const std::int64_t held = sizing == KvSizing::profiled ? blocks : used_blocks;
    return weights + non_torch + activations + static_cast<double>(held) * block;
  }
};

/// Shares out the memory. `blocks` is zero or negative when nothing is left for KV.
[[nodiscard]] MemoryPlan plan_memory(const EngineConfig& config, const hw::StepCost& cost);

}  // namespace tokenline
