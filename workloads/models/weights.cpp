#include <algorithm>

#include "workloads/models/operators.hpp"

namespace tokenline::models {
namespace {

constexpr std::int64_t scale_block = 128;  ///< Rows and columns that share a scale (fp8_block).

std::int64_t blocks(std::int64_t size) { return (size + scale_block - 1) / scale_block; }

Bytes times(std::int64_t count, Bytes bytes) { return static_cast<double>(count) * bytes; }

Bytes elements_16_bit(std::int64_t count) { return Bytes(2.0 * static_cast<double>(count)); }

Bytes product_bytes(const Gemm& product) {
  return times(product.count, matrix_bytes(product.n, product.k, product.precision));
}

/// Projections of one GPU: those into the latents whole, those per head its own heads.
Bytes latent_attention_bytes(const LatentAttentionLayers& mla) {
  const LatentAttention& d = mla.dims;
  const std::int64_t h = mla.hidden_size;
  const std::int64_t q_width = mla.q_heads * (d.qk_nope_head_dim + d.qk_rope_head_dim);
  const std::int64_t kv_width = mla.q_heads * (d.qk_nope_head_dim + d.v_head_dim);
  const auto stored = [&](std::int64_t n, std::int64_t k) {
    return matrix_bytes(n, k, mla.precision);
  };
  Bytes layer = stored(d.kv_lora_rank + d.qk_rope_head_dim, h) + stored(kv_width, d.kv_lora_rank) +
                stored(h, mla.q_heads * d.v_head_dim);
  layer += d.q_lora_rank ? stored(*d.q_lora_rank, h) + stored(q_width, *d.q_lora_rank)
                         : stored(q_width, h);
  return times(mla.count, layer);
}

/// The experts of one GPU, each a shard of gate, up and down (up and down of a plain MLP).
Bytes expert_bytes(const ExpertLayers& layers, Mlp mlp) {
  const std::int64_t inner = layers.intermediate_size / layers.tensor;
  const std::int64_t up = mlp == Mlp::gated ? 2 : 1;
  const Bytes expert = times(up, matrix_bytes(inner, layers.hidden_size, layers.precision)) +
                       matrix_bytes(layers.hidden_size, inner, layers.precision);
  return times(layers.count * (layers.experts / layers.expert), expert);
}

}  // namespace

Bytes matrix_bytes(std::int64_t n, std::int64_t k, Precision precision) {
  const double elements = static_cast<double>(n * k);
  switch (precision) {
    case Precision::bfloat16:
      return Bytes(2.0 * elements);
    case Precision::fp8:
      return Bytes(elements);
    case Precision::fp8_block:
      return Bytes(elements + 4.0 * static_cast<double>(blocks(n) * blocks(k)));
    case Precision::mxfp4:
      return Bytes(elements * 17.0 / 32.0);
  }
  return {};
}

Bytes weight_bytes(const Architecture& whole, const Parallelism& parallelism, std::int64_t stage) {
  const OperatorList list = operators(whole, parallelism, stage);
  const Architecture model = stage_of(whole, parallelism, stage);
  const bool first = stage == 0;
  const bool last = stage == parallelism.pipeline - 1;
  Bytes total = elements_16_bit(model.vector_parameters());
  if (first && model.learned_positions)
    total += elements_16_bit((model.max_position_embeddings + 2) * model.hidden_size);
  const std::int64_t vocabularies = first && last ? (model.tied_embeddings ? 1 : 2) : first || last;
  total +=
      times(vocabularies, matrix_bytes(list.lm_head.n, list.lm_head.k, list.lm_head.precision));
  for (const Gemm& product : list.gemms) total += product_bytes(product);
  if (list.mla) total += latent_attention_bytes(*list.mla);
  if (list.experts) total += expert_bytes(*list.experts, model.mlp);
  return total;
}

Bytes kv_bytes_per_token(const Architecture& model, const Parallelism& parallelism,
                         std::int64_t bytes_per_element, std::int64_t stage) {
  const std::int64_t layers = stage_of(model, parallelism, stage).layers;
  const std::int64_t heads = std::max<std::int64_t>(1, model.cached_heads() / parallelism.tensor);
  const std::int64_t elements = heads * model.cached_head_values();
  return Bytes(static_cast<double>(layers * elements * bytes_per_element) /
               static_cast<double>(parallelism.context));
}

}  // namespace tokenline::models
