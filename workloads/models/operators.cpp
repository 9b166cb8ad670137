#include "workloads/models/operators.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "sim/base/check.hpp"

namespace tokenline::models {
namespace {

constexpr std::int64_t element = 2;  ///< Bytes of a 16-bit activation.

Bytes bytes(std::int64_t count) { return Bytes(static_cast<double>(count)); }

/// One MLP that `count` layers have: the dense one, or the shared experts, which engines merge into
/// one as wide as all of them.
struct DenseMlp {
  std::string_view up;
  std::string_view down;
  std::int64_t inner = 0;  ///< Columns on one GPU.
  std::int64_t count = 0;
};

/// What a stage of a pipeline is.
struct Place {
  std::int64_t index = 0;
  std::int64_t of = 1;
  [[nodiscard]] bool first() const { return index == 0; }
  [[nodiscard]] bool last() const { return index == of - 1; }
};

std::int64_t moe_layers(const Architecture& model) {
  return model.moe ? model.layers - model.moe->dense_layers : 0;
}

std::vector<DenseMlp> dense_mlps(const Architecture& model, std::int64_t tensor) {
  std::vector<DenseMlp> mlps;
  const bool gated = model.mlp == Mlp::gated;
  if (const std::int64_t dense = model.layers - moe_layers(model); dense > 0)
    mlps.push_back(
        {gated ? "gate_up_proj" : "up_proj", "down_proj", model.intermediate_size / tensor, dense});
  if (model.moe && model.moe->shared_experts > 0) {
    const std::int64_t width = model.moe->shared_experts * model.moe->expert_intermediate_size;
    mlps.push_back({gated ? "shared_gate_up_proj" : "shared_up_proj", "shared_down_proj",
                    width / tensor, moe_layers(model)});
  }
  return mlps;
}

std::vector<Gemm> products(const Architecture& model, const OperatorList& list,
                           std::span<const DenseMlp> mlps) {
  const std::int64_t h = model.hidden_size;
  const Precision linear = linear_precision(model.quantization);
  std::vector<Gemm> all;
  if (!model.mla) {
    const std::int64_t qkv = (list.q_heads + 2 * list.kv_heads) * list.head_dim;
    all.push_back({"qkv_proj", qkv, h, model.layers, linear});
    all.push_back({"o_proj", h, list.q_heads * list.head_dim, model.layers, linear});
  }
  for (const DenseMlp& mlp : mlps) {
    const std::int64_t up = model.mlp == Mlp::gated ? 2 : 1;
    all.push_back({mlp.up, up * mlp.inner, h, mlp.count, linear});
    all.push_back({mlp.down, h, mlp.inner, mlp.count, linear});
  }
  if (model.moe)
    all.push_back({"router", model.moe->experts, h, moe_layers(model), Precision::bfloat16});
  return all;
}

std::vector<Elementwise> streams(const Architecture& model, const OperatorList& list,
                                 std::span<const DenseMlp> mlps, Place place) {
  const std::int64_t h = model.hidden_size;
  const Bytes heads = bytes(2 * (list.q_heads + list.kv_heads) * list.head_dim * element);
  std::vector<Elementwise> all;
  if (place.first())
    all.push_back({"embedding", bytes((model.learned_positions ? 3 : 2) * h * element), 1});
  // Fused with the residual addition: reads and writes both streams.
  all.push_back({"norm", bytes(4 * h * element), 2 * model.layers});
  if (place.last()) all.push_back({"final_norm", bytes(4 * h * element), 1});
  for (const DenseMlp& mlp : mlps)
    all.push_back(
        {"activation", bytes((model.mlp == Mlp::gated ? 3 : 2) * mlp.inner * element), mlp.count});
  if (!model.mla && !model.learned_positions) all.push_back({"rotary", heads, model.layers});
  if (!model.mla && model.qk_norm) all.push_back({"qk_norm", heads, model.layers});
  return all;
}

std::vector<AttentionLayers> attention_layers(const Architecture& model) {
  std::vector<AttentionLayers> all;
  if (model.mla) return all;
  const std::int64_t sliding = model.sliding_window ? model.sliding_layers : 0;
  if (sliding > 0) all.push_back({sliding, model.sliding_window});
  if (model.layers > sliding) all.push_back({model.layers - sliding, {}});
  return all;
}

/// After o_proj and after the MLP of each layer; around experts that several groups share also the
/// gathering of their tokens and the scattering of the answers; at the start of a stage what the
/// one before it sends.
std::vector<Collective> collectives(const Architecture& model, const Parallelism& parallelism,
                                    Place place) {
  const Bytes hidden = bytes(model.hidden_size * element);
  std::vector<Collective> all;
  if (!place.first()) {
    const Bytes part = 2.0 * hidden / static_cast<double>(parallelism.tensor);
    all.push_back({CollectiveOp::send_recv, RankGroup::stages, 2, part, 1});
    if (parallelism.tensor > 1)
      all.push_back({CollectiveOp::all_gather, RankGroup::tensor, parallelism.tensor, part, 1});
  }
  if (parallelism.tensor > 1)
    all.push_back({CollectiveOp::all_reduce, RankGroup::tensor, parallelism.tensor, hidden,
                   2 * model.layers});
  if (parallelism.data > 1) {
    all.push_back(
        {CollectiveOp::all_gather, RankGroup::data, parallelism.data, hidden, moe_layers(model)});
    all.push_back({CollectiveOp::reduce_scatter, RankGroup::data, parallelism.data, hidden,
                   moe_layers(model)});
  }
  return all;
}

std::vector<Collective> merges(const Architecture& model, const Parallelism& parallelism,
                               std::int64_t q_heads) {
  if (parallelism.context == 1) return {};
  constexpr std::int64_t fp32 = 4;
  return {{CollectiveOp::all_gather, RankGroup::context, parallelism.context, bytes(q_heads * fp32),
           model.layers},
          {CollectiveOp::all_reduce, RankGroup::context, parallelism.context,
           bytes(q_heads * model.head_dim * element), model.layers}};
}

}  // namespace

std::vector<std::int64_t> stage_layers(std::int64_t layers, std::int64_t stages) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(stages), layers / stages);
  const std::int64_t left_over = layers % stages;
  for (std::int64_t i = 0; i < left_over; ++i) ++all[static_cast<std::size_t>(stages - 2 - i)];
  return all;
}

Architecture stage_of(const Architecture& model, const Parallelism& parallelism,
                      std::int64_t stage) {
  const auto layers = stage_layers(model.layers, parallelism.pipeline);
  TOKENLINE_CHECK(stage >= 0 && stage < parallelism.pipeline, "stage {} of {}", stage,
                  parallelism.pipeline);
  const auto own = layers.begin() + stage;
  const std::int64_t begin = std::accumulate(layers.begin(), own, std::int64_t{0});
  Architecture part = model;
  part.layers = *own;
  // The first layers are dense; those with a window are spread evenly.
  if (part.moe)
    part.moe->dense_layers = std::clamp<std::int64_t>(model.moe->dense_layers - begin, 0, *own);
  const auto sliding_before = [&](std::int64_t layer) {
    return layer * model.sliding_layers / model.layers;
  };
  part.sliding_layers = sliding_before(begin + *own) - sliding_before(begin);
  return part;
}

OperatorList operators(const Architecture& whole, const Parallelism& parallelism,
                       std::int64_t stage) {
  const std::string mistake = first_sharding_mistake(whole, parallelism);
  TOKENLINE_CHECK(mistake.empty(), "{}", mistake);
  const Architecture model = stage_of(whole, parallelism, stage);
  const Place place{stage, parallelism.pipeline};
  const std::int64_t tensor = parallelism.tensor;
  const std::int64_t h = model.hidden_size;
  const std::vector<DenseMlp> mlps = dense_mlps(model, tensor);

  OperatorList list;
  list.q_heads = model.attention_heads / tensor;
  list.kv_heads = std::max<std::int64_t>(1, model.kv_heads / tensor);
  list.head_dim = model.head_dim;
  list.gemms = products(model, list, mlps);
  const std::int64_t heads = place.last() ? 1 : 0;
  list.lm_head = {"lm_head", (model.vocab_size + tensor - 1) / tensor, h, heads,
                  Precision::bfloat16};
  list.elementwise = streams(model, list, mlps, place);
  // 16-bit logits read, fp32 written, and read again by the arg max; every rank samples all of
  // them.
  list.sampler = {"sampler", bytes(model.vocab_size * (2 + 4 + 4)), heads};
  list.attention = attention_layers(model);
  if (model.mla)
    list.mla = LatentAttentionLayers{.dims = *model.mla,
                                     .count = model.layers,
                                     .q_heads = list.q_heads,
                                     .hidden_size = h,
                                     .precision = linear_precision(model.quantization)};
  if (moe_layers(model) > 0)
    list.experts = ExpertLayers{.count = moe_layers(model),
                                .hidden_size = h,
                                .intermediate_size = model.moe->expert_intermediate_size,
                                .experts = model.moe->experts,
                                .experts_per_token = model.moe->experts_per_token,
                                .tensor = parallelism.stage_gpus() / parallelism.expert,
                                .expert = parallelism.expert,
                                .precision = model.quantization};
  list.collectives = collectives(model, parallelism, place);
  list.merges = merges(model, parallelism, list.q_heads);
  return list;
}

}  // namespace tokenline::models
