#include "sim/engine/memory_plan.hpp"

#include <algorithm>
#include <cmath>

namespace tokenline {
namespace {

Bytes budget(const EngineConfig& config, const MemoryPlan& plan) {
  const Bytes needed = plan.weights + plan.non_torch + plan.activation_peak;
  if (config.kv_sizing == KvSizing::free_fraction)
    return needed + config.gpu_memory_utilization * (plan.capacity - needed);
  if (config.kv_sizing == KvSizing::static_reserve) return plan.capacity - config.static_reserve;
  return config.gpu_memory_utilization * plan.capacity;
}

/// vLLM's profile run ends with a sampler over max_num_seqs rows with top-k and top-p
/// (gpu_model_runner.py, _dummy_sampler_run; topk_topp_sampler.py): beside the logits, which
/// activations count, sorted values (4 B), their indices (8), probabilities (4) and their sums (4)
/// of the vocabulary.
Bytes profiled_sampler(const EngineConfig& config, const hw::StepCost& cost) {
  constexpr double per_logit = 4.0 + 8.0 + 4.0 + 4.0;
  return Bytes(per_logit * static_cast<double>(config.max_num_seqs) *
               static_cast<double>(cost.setup().model.vocab_size));
}

MemoryPlan plan_stage(const EngineConfig& config, const hw::StepCost& cost,
                      const SpeculationConfig* speculation, bool samples) {
  const std::int64_t per_decode = speculation == nullptr ? 1 : 1 + speculation->tokens;
  const std::int64_t longest_piece = std::min(config.max_num_batched_tokens, config.max_model_len);
  MemoryPlan plan;
  plan.capacity = cost.setup().gpu.memory;
  plan.weights = cost.weights();
  plan.groups = cost.setup().parallelism.data;
  plan.non_torch = config.non_torch_memory;
  plan.activation_peak = cost.activations(plan.groups * config.max_num_batched_tokens,
                                          plan.groups * config.max_num_seqs * per_decode,
                                          longest_piece * config.max_model_len);
  if (config.kv_sizing == KvSizing::profiled && samples)
    plan.activation_peak += profiled_sampler(config, cost);
  Bytes kv_per_token = cost.kv_per_token();
  if (speculation != nullptr && speculation->cost) {
    plan.weights += speculation->weights;
    kv_per_token += speculation->cost->kv_per_token();
  }
  plan.block = static_cast<double>(config.pool_block_size()) * kv_per_token;
  plan.budget = budget(config, plan);
  if (config.num_gpu_blocks_override) {
    plan.blocks = *config.num_gpu_blocks_override;
    return plan;
  }
  Bytes pool = plan.budget - plan.weights - plan.non_torch;
  // A static reserve holds the activations, and on demand blocks compete with them.
  if (config.kv_sizing == KvSizing::profiled || config.kv_sizing == KvSizing::free_fraction)
    pool -= plan.activation_peak;
  plan.blocks = plan.groups * static_cast<std::int64_t>(std::floor(pool / plan.block));
  return plan;
}

}  // namespace

std::vector<MemoryPlan> plan_memory(const EngineConfig& config, const hw::ReplicaCost& cost,
                                    const SpeculationConfig* speculation) {
  std::vector<MemoryPlan> stages;
  for (std::size_t i = 0; i < cost.stages(); ++i)
    stages.push_back(plan_stage(config, cost.stage(i), speculation, i + 1 == cost.stages()));
  const std::int64_t blocks = std::ranges::min(stages, {}, &MemoryPlan::blocks).blocks;
  for (MemoryPlan& stage : stages) stage.blocks = blocks;
  return stages;
}

const MemoryPlan& fullest(const std::vector<MemoryPlan>& stages, KvSizing sizing) {
  return *std::ranges::max_element(stages, {}, [sizing](const MemoryPlan& stage) {
    return stage.in_use(sizing, stage.blocks, stage.activation_peak);
  });
}

}  // namespace tokenline
