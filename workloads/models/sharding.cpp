#include <fmt/format.h>

#include "workloads/models/operators.hpp"

namespace tokenline::models {
namespace {

constexpr const char* tensor_key = "tensor_parallel_size";
constexpr const char* data_key = "attention_data_parallel_size";
constexpr const char* expert_key = "expert_parallel_size";
constexpr const char* pipeline_key = "pipeline_parallel_size";
constexpr const char* context_key = "context_parallel_size";

/// Empty if `ways` divides `size`.
std::string undivided(const char* key, std::int64_t ways, std::int64_t size, const char* what,
                      const Architecture& model) {
  if (size % ways == 0) return {};
  return fmt::format("{} {} does not divide the {} {} of {}", key, ways, size, what, model.name);
}

std::string tensor_mistake(const Architecture& model, std::int64_t ways) {
  const bool has_dense_layers = !model.moe || model.moe->dense_layers > 0;
  if (auto mistake = undivided(tensor_key, ways, model.attention_heads, "attention heads", model);
      !mistake.empty())
    return mistake;
  if (!model.mla && model.kv_heads % ways != 0 && ways % model.kv_heads != 0)
    return fmt::format("{} {} and the {} kv heads of {} do not divide one another", tensor_key,
                       ways, model.kv_heads, model.name);
  if (has_dense_layers) {
    if (auto mistake = undivided(tensor_key, ways, model.intermediate_size, "MLP columns", model);
        !mistake.empty())
      return mistake;
  }
  if (!model.moe) return {};
  return undivided(tensor_key, ways,
                   model.moe->shared_experts * model.moe->expert_intermediate_size,
                   "shared expert columns", model);
}

std::string expert_mistake(const Architecture& model, const Parallelism& parallelism) {
  const std::int64_t gpus = parallelism.stage_gpus();
  const std::int64_t ways = parallelism.expert;
  if (gpus % ways != 0)
    return fmt::format("{} {} does not divide the {} GPUs of a {}", expert_key, ways, gpus,
                       parallelism.pipeline > 1 ? "stage" : "replica");
  if (auto mistake = undivided(expert_key, ways, model.moe->experts, "experts", model);
      !mistake.empty())
    return mistake;
  const std::int64_t split = gpus / ways;
  if (model.moe->expert_intermediate_size % split == 0) return {};
  return fmt::format(
      "{} {} leaves {} GPUs to split an expert of {}, which do not divide its {} columns",
      expert_key, ways, split, model.name, model.moe->expert_intermediate_size);
}

std::string context_mistake(const Architecture& model, std::int64_t ways) {
  if (ways < 1) return fmt::format("{} must be at least 1", context_key);
  if (ways == 1) return {};
  const char* reason = model.mla                                          ? "latent attention"
                       : model.moe                                        ? "experts"
                       : model.sliding_window && model.sliding_layers > 0 ? "sliding windows"
                                                                          : nullptr;
  if (reason == nullptr) return {};
  return fmt::format("{} {}: a ring is modelled for dense models with full attention; {} has {}",
                     context_key, ways, model.name, reason);
}

}  // namespace

std::string first_sharding_mistake(const Architecture& model, const Parallelism& parallelism) {
  if (parallelism.tensor < 1) return fmt::format("{} must be at least 1", tensor_key);
  if (parallelism.data < 1) return fmt::format("{} must be at least 1", data_key);
  if (parallelism.expert < 1) return fmt::format("{} must be at least 1", expert_key);
  if (parallelism.pipeline < 1) return fmt::format("{} must be at least 1", pipeline_key);
  if (parallelism.pipeline > model.layers)
    return fmt::format("{} {} leaves stages without any of the {} layers of {}", pipeline_key,
                       parallelism.pipeline, model.layers, model.name);
  if (auto mistake = tensor_mistake(model, parallelism.tensor); !mistake.empty()) return mistake;
  if (auto mistake = context_mistake(model, parallelism.context); !mistake.empty()) return mistake;
  if (model.moe) return expert_mistake(model, parallelism);
  if (parallelism.data > 1)
    return fmt::format("{} {}: {} has no experts to share, so its groups would be replicas",
                       data_key, parallelism.data, model.name);
  if (parallelism.expert > 1)
    return fmt::format("{} {}: {} has no experts", expert_key, parallelism.expert, model.name);
  return {};
}

}  // namespace tokenline::models
