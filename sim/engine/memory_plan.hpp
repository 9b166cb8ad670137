#pragma once

#include <cstdint>
#include <vector>

#include "hwmodels/replica_cost.hpp"
#include "sim/engine/engine_config.hpp"
#include "sim/engine/speculation.hpp"

namespace tokenline {

/// The HBM of one GPU of a pipeline stage, shared out: weights + non-torch + activations + KV pool.
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

/// Shares out the memory of each stage of a pipeline. All have the same `blocks`, those of the
/// stage that leaves the fewest; zero or negative when nothing is left for KV. A draft model takes
/// its weights and its KV of every token; `speculation` is null without.
[[nodiscard]] std::vector<MemoryPlan> plan_memory(const EngineConfig& config,
                                                  const hw::ReplicaCost& cost,
                                                  const SpeculationConfig* speculation = nullptr);

/// The stage with the least memory free beside a full pool and the largest step.
[[nodiscard]] const MemoryPlan& fullest(const std::vector<MemoryPlan>& stages, KvSizing sizing);

}  // namespace tokenline
