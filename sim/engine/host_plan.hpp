#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hwmodels/network/copy.hpp"
#include "hwmodels/replica_cost.hpp"
#include "sim/engine/engine_config.hpp"
#include "sim/engine/kv_tiers.hpp"
#include "sim/engine/memory_plan.hpp"

namespace tokenline {

/// What lies behind the KV pool of a replica, and what copies to it and back cost. A copy moves the
/// same blocks of all GPUs of the replica at once.
struct HostPlan {
  std::int64_t swap_blocks = 0;  ///< Of preemption_mode: swap.
  hw::CopyCost swap_out;         ///< By blocks.
  hw::CopyCost swap_in;
  std::vector<TierPlan> tiers;  ///< Of kv_offload, the nearest first.
};

/// Host blocks are ⌊swap_space / block⌋, as in vLLM V0 (worker.py, determine_num_available_blocks).
/// Each layer's K and V of a block are contiguous pieces of their own, of MLA one (cache_engine.py,
/// swap_out; csrc/cache_kernels.cu, swap_blocks: a copy each). `gpus` are those of the replica, by
/// rank. Contract: the replica has one stage and one attention group.
[[nodiscard]] HostPlan plan_swap(const EngineConfig& config, const hw::ReplicaCost& cost,
                                 const MemoryPlan& memory, const hw::Network& network,
                                 std::span<const hw::Vertex> gpus);

/// The tiers of kv_offload. A tier of `size` bytes holds ⌊size / block⌋ blocks of all GPUs
/// together, as vLLM's kv_offloading_size and not LMCache's sizes of each worker. A block is one
/// contiguous piece, K and V of all layers, as vLLM lays it out for that since 0.12. Drives read
/// into the GPUs and are written from host memory, or, where there is none, by the GPUs. Contract:
/// the replica has one attention group.
[[nodiscard]] std::vector<TierPlan> plan_tiers(const EngineConfig& config,
                                               const std::vector<MemoryPlan>& stages,
                                               const hw::Network& network,
                                               std::span<const hw::Vertex> gpus);

}  // namespace tokenline
