#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hwmodels/replica_cost.hpp"
#include "sim/engine/engine_config.hpp"
#include "sim/engine/host_plan.hpp"
#include "sim/engine/memory_plan.hpp"

namespace tokenline {

/// What the replicas of a pool do.
enum class PoolRole : std::uint8_t {
  both,     ///< Prefill and decode their own requests.
  prefill,  ///< Compute prompts, whose KV others decode from.
  decode,   ///< Decode what others computed; without a pool of `both` also requests of their own.
};

/// The word of the scenario.
[[nodiscard]] std::string_view name(PoolRole role);

/// Replicas of one kind.
struct Pool {
  std::string name;
  PoolRole role = PoolRole::both;
  std::int64_t replicas = 1;
  models::Parallelism parallelism;
  EngineConfig engine;
  std::shared_ptr<const hw::ReplicaCost> cost;
  std::vector<MemoryPlan> stage_memory;
  MemoryPlan memory;  ///< Of the fullest stage.
  HostPlan host = {};
};

/// Which requests are disaggregated, and how their KV moves.
struct Disaggregation {
  std::int64_t min_prompt_tokens = 1;  ///< Shorter prompts stay where they decode.
  bool layerwise = false;              ///< Layers leave as they are computed.
  bool first_token_from_prefill = true;
};

}  // namespace tokenline
