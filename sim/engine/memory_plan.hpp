#pragma once

#include <cstdint>

#include "sim/engine/engine_config.hpp"

namespace tokenline {

/// The HBM of one GPU of a replica, shared out: weights + non-torch + activations + KV pool.
struct MemoryPlan {
  Bytes capacity;  ///< As the driver reports it.
  Bytes budget;    ///< What the engine may use: weights, activations, non-torch and the pool.
  Bytes weights;
  Bytes non_torch;
  Bytes activation_peak;    ///< Of a step at every limit of the engine.
  Bytes block;              ///< One KV block on one GPU.
  std::int64_t blocks = 0;  ///< Of a replica: the pools of its attention groups together.
  std::int64_t groups = 1;  ///< Attention data parallel; each GPU holds the blocks of one group.

  /// HBM in use in a step; the pool counts whole when it is reserved, by its used blocks when not.
  [[nodiscard]] Bytes in_use(KvSizing sizing, std::int64_t used_blocks, Bytes activations) const {
    const std::int64_t held = sizing == KvSizing::on_demand ? used_blocks : blocks;
    const auto own = static_cast<double>((held + groups - 1) / groups);
    return weights + non_torch + activations + own * block;
  }
};

/// Shares out the memory. `blocks` is zero or negative when nothing is left for KV.
[[nodiscard]] MemoryPlan plan_memory(const EngineConfig& config, const hw::StepCost& cost);

}  // namespace tokenline
