#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/models/architecture.hpp"

namespace tokenline::models {

/// How one replica is spread over pipeline · tensor · data · context GPUs.
struct Parallelism {
  std::int64_t tensor = 1;  ///< GPUs that share each attention layer and dense MLP (Megatron).
  std::int64_t data = 1;  ///< Attention data parallel: groups of `tensor` GPUs with own sequences.
  /// Of the tensor · data GPUs, how many ways the experts are spread; the rest of the ways split
  /// each expert (moe_tp = tensor · data / expert).
  std::int64_t expert = 1;
  std::int64_t pipeline = 1;  ///< Stages of GPUs, each with its own layers.
  /// Groups of `tensor` GPUs with all weights of a stage and a share of every sequence each.
  std::int64_t context = 1;

  [[nodiscard]] std::int64_t stage_gpus() const { return tensor * data * context; }
  [[nodiscard]] std::int64_t gpus() const { return pipeline * stage_gpus(); }
};

/// Layers of each of `stages` pipeline stages, in order: equal shares; what is left over goes one
/// by one to the last stage but one and those before it, since the last has the LM head and the
/// first the embedding (vLLM's get_pp_indices, vllm/distributed/utils.py).
[[nodiscard]] std::vector<std::int64_t> stage_layers(std::int64_t layers, std::int64_t stages);

/// The layers of pipeline stage `stage` as a model of their own. Dense layers are the first ones of
/// a mixture of experts; layers with a window alternate evenly with the others.
[[nodiscard]] Architecture stage_of(const Architecture& model, const Parallelism& parallelism,
                                    std::int64_t stage);

/// A matrix product of one GPU's shard: activations tokens × k times weights k × n.
struct Gemm {
  std::string_view name;  ///< "qkv_proj", "o_proj", "gate_up_proj", "down_proj", "router", ….
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t count = 1;  ///< How often per forward pass (layers).
  Precision precision = Precision::bfloat16;
};

/// A memory-bound operator whose HBM traffic is proportional to tokens: norms, rotary embedding,
/// activation, embedding lookup. The KV-cache write belongs to attention, quantising the input of
/// an fp8 product to the product (as in the measurements that price it), what routed experts and
/// latent attention do inside to them.
struct Elementwise {
  std::string_view name;
  Bytes bytes_per_token;  ///< Read plus written on one GPU.
  std::int64_t count = 1;
};

/// Layers of grouped-query attention with one reach.
struct AttentionLayers {
  std::int64_t count = 0;
  std::optional<std::int64_t> window;  ///< Tokens attended to; absent: all.
};

/// Layers of multi-head latent attention, with the projections that belong to them: q (down and)
/// up, kv down, the absorption of kv up into q and o, o.
struct LatentAttentionLayers {
  LatentAttention dims;
  std::int64_t count = 0;
  std::int64_t q_heads = 0;  ///< Per GPU.
  std::int64_t hidden_size = 0;
  Precision precision = Precision::bfloat16;  ///< Of the projections.
};

/// The routed experts of a layer, gate and up, activation, down and the weighted sum included;
/// their router is a Gemm.
struct ExpertLayers {
  std::int64_t count = 0;
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;  ///< Of one whole expert.
  std::int64_t experts = 0;            ///< All of the model.
  std::int64_t experts_per_token = 0;
  std::int64_t tensor = 1;  ///< Ways each expert is split.
  std::int64_t expert = 1;  ///< Ways the experts are spread.
  Precision precision = Precision::bfloat16;
};

enum class CollectiveOp { all_reduce, all_gather, reduce_scatter, all_to_all, send_recv };

/// Which GPUs of a replica a collective is between.
enum class RankGroup {
  tensor,   ///< Those that share the layers of one attention group.
  data,     ///< Those of one tensor rank in all attention groups.
  context,  ///< Those of one tensor rank that share the sequences of an attention group.
  stages,   ///< Those of one place in a stage and the one before it.
};

/// A collective between GPUs of one replica; all groups of its kind in the stage have theirs at
/// the same time. The payload is that of a rank: all of the tensor for
/// all-reduce, its own part for the others.
struct Collective {
  CollectiveOp op = CollectiveOp::all_reduce;
  RankGroup group = RankGroup::tensor;
  std::int64_t gpus = 2;
  Bytes bytes_per_token;  ///< Per token of a rank's own batch.
  std::int64_t count = 1;
};

/// What one GPU of a pipeline stage computes in one forward pass, as functions of the number of
/// tokens of its own sequences (attention apart, which depends on lengths). Experts meet the tokens
/// of all `data` groups.
struct OperatorList {
  std::vector<Gemm> gemms;               ///< Over all tokens of the step.
  std::vector<Elementwise> elementwise;  ///< Over all tokens of the step.
  Gemm lm_head;              ///< Over the sampled tokens only; count 0 but in the last stage.
  Elementwise sampler;       ///< Over the sampled tokens only: logits to fp32, arg max; as lm_head.
  std::int64_t q_heads = 0;  ///< Per GPU.
  std::int64_t kv_heads = 0;  ///< Per GPU, at least 1 (replicated when TP > kv heads).
  std::int64_t head_dim = 0;
  std::vector<AttentionLayers> attention;  ///< Empty under MLA.
  std::optional<LatentAttentionLayers> mla;
  std::optional<ExpertLayers> experts;
  std::vector<Collective> collectives;
  /// Over the tokens of decoding sequences only: the merging of what context ranks attended to.
  std::vector<Collective> merges;
};

/// Operators of a transformer on one GPU of pipeline stage `stage`. Attention, dense MLPs and
/// shared experts are sharded as in Megatron-LM (arXiv 1909.08053): columns of qkv and gate_up,
/// rows of o and down, an all-reduce after each pair, the vocabulary split. Experts are spread or
/// split over all GPUs of the stage; with data > 1 their inputs are gathered from all groups and
/// their outputs reduce-scattered (vLLM's allgather_reducescatter); all groups run the same step. A
/// vocabulary the tensor degree does not divide is padded. A stage but the first receives the
/// hidden state and the residual of every token from the one before: each rank its part, which the
/// ranks then gather (vLLM's send_tensor_dict). Context ranks divide the tokens of prompts, not
/// those of decodes, of which each computes all and attends to its share of KV; partial results are
/// merged by a gathering of the sums of exponentials and an all-reduce of the outputs (vLLM's
/// cp_lse_ag_out_ar, vllm/v1/attention/ops/common.py). Not listed: KV passing from rank to rank in
/// prefill (hw::ring_attention), the gathering of logits
/// (over sampled tokens, not all) and of router logits (1 to 4 % of the hidden state). Contract:
/// first_sharding_mistake() is empty, and `stage` is one of the stages.
[[nodiscard]] OperatorList operators(const Architecture& model, const Parallelism& parallelism,
                                     std::int64_t stage = 0);

/// What keeps a model from being spread that way, as a sentence that begins with the key to change
/// (tensor_parallel_size, attention_data_parallel_size, expert_parallel_size,
/// pipeline_parallel_size, context_parallel_size); empty if nothing does.
[[nodiscard]] std::string first_sharding_mistake(const Architecture& model,
                                                 const Parallelism& parallelism);

/// Bytes of an n × k matrix in memory with the scales of its blocks: 2 per element, 1 for fp8 (its
/// scales, one per tensor or row, are left out), 1 and an fp32 scale per begun 128 × 128 block for
/// fp8_block, 17/32 for mxfp4.
[[nodiscard]] Bytes matrix_bytes(std::int64_t n, std::int64_t k, Precision precision);

/// Bytes of weights that one GPU of a stage holds: its shards of matrices; of the embedding in the
/// first stage and of the LM head in the last, once where both are one and the same; routers, MLA's
/// projections into the latents, norms, biases and learned positions whole, at 16 bit. Left out:
/// padding of quantised experts, and the 16-bit copy of MLA's absorbed kv_b that vLLM makes of an
/// fp8 checkpoint (0.3 % of DeepSeek-V3).
[[nodiscard]] Bytes weight_bytes(const Architecture& model, const Parallelism& parallelism,
                                 std::int64_t stage = 0);

/// Bytes of KV that one token takes on one GPU of its group, over all layers of the stage, at
/// `bytes_per_element` (2, or 1 for fp8 KV). MLA's latent is replicated over the tensor-parallel
/// ranks.
[[nodiscard]] Bytes kv_bytes_per_token(const Architecture& model, const Parallelism& parallelism,
                                       std::int64_t bytes_per_element, std::int64_t stage = 0);

}  // namespace tokenline::models
