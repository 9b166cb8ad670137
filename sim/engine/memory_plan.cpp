#include "sim/engine/memory_plan.hpp"

#include <algorithm>
#include <cmath>

namespace tokenline {

MemoryPlan plan_memory(const EngineConfig& config, const hw::StepCost& cost) {
  const std::int64_t longest_piece = std::min(config.max_num_batched_tokens, config.max_model_len);
  MemoryPlan plan;
  plan.capacity = cost.setup().gpu.memory;
  plan.budget = config.gpu_memory_utilization * plan.capacity;
  plan.weights = cost.weights();
  plan.non_torch = config.non_torch_memory;
  plan.activation_peak = cost.activations(config.max_num_batched_tokens, config.max_num_seqs,
                                          longest_piece * config.max_model_len);
  plan.block = static_cast<double>(config.pool_block_size()) * cost.kv_per_token();
  if (config.num_gpu_blocks_override) {
    plan.blocks = *config.num_gpu_blocks_override;
    return plan;
  }
  Bytes pool = plan.budget - plan.weights - plan.non_torch;
  if (config.kv_sizing == KvSizing::profiled) pool -= plan.activation_peak;
  plan.blocks = static_cast<std::int64_t>(std::floor(pool / plan.block));
  return plan;
}

}  // namespace tokenline
