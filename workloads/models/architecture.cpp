#include "workloads/models/architecture.hpp"

#include <array>

namespace tokenline::models {
namespace {

/// What a model's parameters are made of. Matrices are used by every token, or by those routed to
/// them.
struct Tally {
  std::int64_t embedding = 0;
  std::int64_t lm_head = 0;    ///< Zero where it is the embedding.
  std::int64_t positions = 0;  ///< Learned, looked up.
  std::int64_t matrices = 0;   ///< Attention, dense MLPs, routers, shared experts.
  std::int64_t routed = 0;     ///< Every routed expert.
  std::int64_t chosen = 0;     ///< The routed experts one token meets.
  std::int64_t vectors = 0;    ///< Norms and biases.
};

std::int64_t latent_attention_matrices(const Architecture& model, const LatentAttention& mla) {
  const std::int64_t h = model.hidden_size;
  const std::int64_t heads = model.attention_heads;
  const std::int64_t q_width = heads * (mla.qk_nope_head_dim + mla.qk_rope_head_dim);
  const std::int64_t q =
      mla.q_lora_rank ? h * *mla.q_lora_rank + *mla.q_lora_rank * q_width : h * q_width;
  const std::int64_t kv_down = h * (mla.kv_lora_rank + mla.qk_rope_head_dim);
  const std::int64_t kv_up = mla.kv_lora_rank * heads * (mla.qk_nope_head_dim + mla.v_head_dim);
  return q + kv_down + kv_up + heads * mla.v_head_dim * h;
}

std::int64_t attention_matrices(const Architecture& model) {
  if (model.mla) return latent_attention_matrices(model, *model.mla);
  const std::int64_t q_width = model.attention_heads * model.head_dim;
  const std::int64_t kv_width = model.kv_heads * model.head_dim;
  return model.hidden_size * (2 * q_width + 2 * kv_width);
}

/// Norms and biases of one layer; biases inside experts are left out (gpt-oss: 0.1 % of weights).
std::int64_t layer_vectors(const Architecture& model) {
  const std::int64_t h = model.hidden_size;
  std::int64_t total = 2 * h;
  if (model.mla) total += model.mla->kv_lora_rank + model.mla->q_lora_rank.value_or(0);
  if (model.qk_norm) total += 2 * model.head_dim;
  if (model.qkv_bias) total += (model.attention_heads + 2 * model.kv_heads) * model.head_dim;
  // The norms' biases, and those of o_proj, the up and the down projection.
  if (model.linear_bias) total += 2 * h + h + model.intermediate_size + h;
  return total;
}

Tally tally(const Architecture& model) {
  const std::int64_t h = model.hidden_size;
  const std::int64_t mlp_matrices = model.mlp == Mlp::gated ? 3 : 2;
  const std::int64_t dense_layers = model.moe ? model.moe->dense_layers : model.layers;

  Tally t;
  t.embedding = model.vocab_size * h;
  t.lm_head = model.tied_embeddings ? 0 : t.embedding;
  if (model.learned_positions) t.positions = (model.max_position_embeddings + 2) * h;
  t.matrices = model.layers * attention_matrices(model) +
               dense_layers * mlp_matrices * h * model.intermediate_size;
  if (model.moe) {
    const std::int64_t moe_layers = model.layers - dense_layers;
    const std::int64_t expert = mlp_matrices * h * model.moe->expert_intermediate_size;
    t.matrices += moe_layers * (h * model.moe->experts + model.moe->shared_experts * expert);
    t.routed = moe_layers * model.moe->experts * expert;
    t.chosen = moe_layers * model.moe->experts_per_token * expert;
  }
  t.vectors = model.layers * layer_vectors(model) + (model.linear_bias ? 2 : 1) * h;
  return t;
}

}  // namespace

std::int64_t Architecture::parameters() const {
  const Tally t = tally(*this);
  return t.embedding + t.lm_head + t.positions + t.matrices + t.routed + t.vectors;
}

std::int64_t Architecture::active_parameters() const {
  const Tally t = tally(*this);
  return t.embedding + t.matrices + t.chosen + t.vectors;
}

std::int64_t Architecture::vector_parameters() const { return tally(*this).vectors; }

Bytes Architecture::kv_bytes_per_token() const {
  return Bytes(static_cast<double>(layers * cached_heads() * cached_head_values() * 2));
}

std::int64_t Architecture::cached_heads() const { return mla ? 1 : kv_heads; }

std::int64_t Architecture::cached_head_values() const {
  return mla ? mla->kv_lora_rank + mla->qk_rope_head_dim : 2 * head_dim;
}

std::string_view name(Precision precision) {
  constexpr std::array<std::string_view, 4> names{"bfloat16", "fp8", "fp8_block", "mxfp4"};
  return names.at(static_cast<std::size_t>(precision));
}

Precision linear_precision(Precision quantization) {
  return quantization == Precision::mxfp4 ? Precision::bfloat16 : quantization;
}

}  // namespace tokenline::models
