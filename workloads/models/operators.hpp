#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "workloads/models/architecture.hpp"

namespace tokenline::models {

/// A matrix product of one GPU's shard: activations tokens × k times weights k × n.
struct Gemm {
  std::string_view
      name;  ///< "qkv_proj", "o_proj", "gate_up_proj" or "up_proj", "down_proj", "lm_head".
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t count = 1;  ///< How often per forward pass (layers).
};

/// A memory-bound operator whose HBM traffic is proportional to tokens: norms, rotary embedding,
/// activation, embedding lookup. The KV-cache write belongs to attention.
struct Elementwise {
  std::string_view name;
  Bytes bytes_per_token;  ///< Read plus written on one GPU.
  std::int64_t count = 1;
};

/// What one GPU of a tensor-parallel group computes in one forward pass, as functions of the number
/// of tokens (attention apart, which depends on lengths).
struct OperatorList {
  std::vector<Gemm> gemms;               ///< Over all tokens of the step.
  std::vector<Elementwise> elementwise;  ///< Over all tokens of the step.
  Gemm lm_head;                          ///< Over the sampled tokens only.
  Elementwise sampler;                   ///< Over the sampled tokens only: logits to fp32, arg max.
  std::int64_t q_heads = 0;              ///< Per GPU.
  std::int64_t kv_heads = 0;             ///< Per GPU, at least 1 (replicated when TP > kv heads).
  std::int64_t head_dim = 0;
  std::int64_t layers = 0;
  Bytes all_reduce_bytes_per_token;  ///< Payload of one all-reduce, per token and rank.
  std::int64_t all_reduces = 0;      ///< Per forward pass: 2 per layer, 0 when TP = 1.
};

/// Operators of a dense transformer on one of `tensor_parallel_size` GPUs, sharded as in
/// Megatron-LM (arXiv 1909.08053): columns of qkv and gate_up, rows of o and down, an all-reduce
/// after each pair, the vocabulary split. The degree must divide the attention heads and the
/// intermediate size (the scenario reader reports that at its line); a vocabulary it does not
/// divide is padded.
[[nodiscard]] OperatorList operators(const Architecture& model, std::int64_t tensor_parallel_size);

}  // namespace tokenline::models
