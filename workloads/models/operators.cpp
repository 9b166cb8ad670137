#include "workloads/models/operators.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace tokenline::models {
namespace {

constexpr std::int64_t element = 2;  ///< Bytes of a 16-bit activation.

Bytes bytes(std::int64_t count) { return Bytes(static_cast<double>(count)); }

std::vector<Elementwise> elementwise(const Architecture& model, const OperatorList& list,
                                     std::int64_t inner) {
  const std::int64_t h = model.hidden_size;
  const std::int64_t rotated = (list.q_heads + list.kv_heads) * list.head_dim;
  const std::int64_t embedding = model.learned_positions ? 3 * h : 2 * h;
  std::vector<Elementwise> all{
      {"embedding", bytes(embedding * element), 1},
      // Fused with the residual addition: reads and writes both streams; one more before the head.
      {"norm", bytes(4 * h * element), 2 * model.layers + 1},
      {"activation", bytes((model.mlp == Mlp::gated ? 3 : 2) * inner * element), model.layers},
  };
  if (!model.learned_positions)
    all.push_back({"rotary", bytes(2 * rotated * element), model.layers});
  return all;
}

}  // namespace

OperatorList operators(const Architecture& model, std::int64_t tensor_parallel_size) {
  const std::int64_t tp = tensor_parallel_size;
  TOKENLINE_CHECK(!model.moe && !model.mla, "{} is not a dense transformer", model.name);
  TOKENLINE_CHECK(tp >= 1 && model.attention_heads % tp == 0 && model.intermediate_size % tp == 0,
                  "tensor parallel degree {} does not divide {}", tp, model.name);
  const std::int64_t h = model.hidden_size;
  const std::int64_t inner = model.intermediate_size / tp;
  const std::int64_t vocabulary = (model.vocab_size + tp - 1) / tp;

  OperatorList list;
  list.q_heads = model.attention_heads / tp;
  list.kv_heads = std::max<std::int64_t>(1, model.kv_heads / tp);
  list.head_dim = model.head_dim;
  list.layers = model.layers;
  const bool gated = model.mlp == Mlp::gated;
  list.gemms = {
      {"qkv_proj", (list.q_heads + 2 * list.kv_heads) * list.head_dim, h, model.layers},
      {"o_proj", h, list.q_heads * list.head_dim, model.layers},
      {gated ? "gate_up_proj" : "up_proj", (gated ? 2 : 1) * inner, h, model.layers},
      {"down_proj", h, inner, model.layers},
  };
  list.lm_head = {"lm_head", vocabulary, h, 1};
  list.elementwise = elementwise(model, list, inner);
  // 16-bit logits read, fp32 written, and read again by the arg max; every rank samples all of
  // them.
  list.sampler = {"sampler", bytes(model.vocab_size * (2 + 4 + 4)), 1};
  list.all_reduce_bytes_per_token = bytes(h * element);
  list.all_reduces = tp == 1 ? 0 : 2 * model.layers;
  return list;
}

}  // namespace tokenline::models
