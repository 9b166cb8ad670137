#include "hwmodels/step_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "hwmodels/kernels/all_reduce.hpp"
#include "hwmodels/kernels/elementwise.hpp"
#include "hwmodels/kernels/gemm.hpp"
#include "sim/base/check.hpp"

namespace tokenline::hw {
namespace {

/// FlashAttention-2 and -3 are built for heads up to this width.
constexpr std::int64_t max_head_dim = 256;
constexpr double element = 2.0;  ///< Bytes of a 16-bit value.

constexpr double real(std::int64_t value) { return static_cast<double>(value); }

void add(Price& price, const KernelCost& cost, std::int64_t count, bool on_grid) {
  const double times = real(count);
  price.time += times * cost.time;
  price.flops += times * cost.flops;
  price.bytes += times * cost.bytes;
  if (!on_grid) price.off_grid += times * cost.time;
}

/// Adds a product to the first entries of a table, entry i holding i tokens.
void add_gemm(std::vector<Price>& table, const Gpu& gpu, const models::Gemm& product) {
  GemmPricer pricer(gpu, product.n, product.k);
  const bool narrow = std::max(product.n, product.k) <= gpu.gemm.max_width;
  for (std::size_t i = 1; i < table.size(); ++i) {
    const auto tokens = static_cast<std::int64_t>(i);
    add(table[i], pricer(tokens), product.count, narrow && tokens <= gpu.gemm.max_tokens);
  }
}

void add_elementwise(std::vector<Price>& table, const Gpu& gpu, const models::Elementwise& op) {
  for (std::size_t i = 1; i < table.size(); ++i) {
    const auto tokens = static_cast<std::int64_t>(i);
    add(table[i], elementwise(gpu, real(tokens) * op.bytes_per_token), op.count,
        tokens <= gpu.elementwise.max_tokens);
  }
}

void add_all_reduces(std::vector<Price>& table, const AllReduceCurve& curve,
                     const models::OperatorList& list) {
  for (std::size_t i = 1; i < table.size(); ++i) {
    const Bytes payload = static_cast<double>(i) * list.all_reduce_bytes_per_token;
    add(table[i], {all_reduce(curve, payload), {}, {}}, list.all_reduces,
        payload <= curve.points.back().payload);
  }
}

/// Tile and wave steps can make a larger product faster. Why the running maximum: an entry then
/// does not depend on the size of the table.
void never_falling(std::vector<Price>& table) {
  for (std::size_t i = 1; i < table.size(); ++i)
    table[i].time = std::max(table[i].time, table[i - 1].time);
}

Bytes weight_bytes(const models::Architecture& model, const models::OperatorList& list) {
  double elements = real(model.vector_parameters());
  if (model.learned_positions)
    elements += real((model.max_position_embeddings + 2) * model.hidden_size);
  for (const models::Gemm& product : list.gemms)
    elements += real(product.n * product.k * product.count);
  const double head = real(list.lm_head.n * list.lm_head.k);
  elements += model.tied_embeddings ? head : 2.0 * head;
  return Bytes(elements * model.weight_bytes_per_parameter());
}

std::string refuse_model(const models::Architecture& model) {
  if (model.moe)
    return fmt::format("mixture-of-experts models are not priced yet ({})", model.name);
  if (model.mla)
    return fmt::format("multi-head latent attention is not priced yet ({})", model.name);
  if (model.sliding_window)
    return fmt::format("sliding-window attention is not priced yet ({})", model.name);
  if (!model.quantization.empty())
    return fmt::format("{} weights are not priced yet ({})", model.quantization, model.name);
  if (model.head_dim > max_head_dim)
    return fmt::format("attention kernels reach head_dim {}; {} has {}", max_head_dim, model.name,
                       model.head_dim);
  return {};
}

std::string refuse_degree(const StepSetup& setup) {
  const std::int64_t tp = setup.tensor_parallel_size;
  const models::Architecture& model = setup.model;
  if (tp < 1) return "tensor_parallel_size must be at least 1";
  if (model.attention_heads % tp != 0 || model.intermediate_size % tp != 0)
    return fmt::format(
        "tensor_parallel_size {} does not divide {} attention heads and intermediate size {}", tp,
        model.attention_heads, model.intermediate_size);
  if (model.kv_heads % tp != 0 && tp % model.kv_heads != 0)
    return fmt::format("tensor_parallel_size {} and {} kv heads do not divide one another", tp,
                       model.kv_heads);
  if (tp > 1 && setup.gpu.all_reduce_of(tp) == nullptr)
    return fmt::format("no all-reduce over {} ranks was measured on {}", tp, setup.gpu.name);
  return {};
}

}  // namespace

std::string StepCost::first_refusal(const StepSetup& setup) {
  if (std::string refusal = refuse_model(setup.model); !refusal.empty()) return refusal;
  if (setup.prefill_kernel == PrefillKernel::fa3 && setup.gpu.generation != Generation::hopper)
    return fmt::format(
        "fa3 needs the asynchronous wgmma and TMA instructions of Hopper; {} has none",
        setup.gpu.name);
  return refuse_degree(setup);
}

StepCost::StepCost(const StepSetup& setup) : setup_(setup) {
  if (const std::string refusal = first_refusal(setup); !refusal.empty())
    throw std::invalid_argument(refusal);
  if (setup.max_tokens < 1 || setup.max_sequences < 1)
    throw std::invalid_argument("a step holds at least one token and one sequence");
  operators_ = models::operators(setup.model, setup.tensor_parallel_size);
  heads_ = {operators_.q_heads, operators_.kv_heads, operators_.head_dim};
  weights_ = weight_bytes(setup.model, operators_);
  kv_per_token_ = Bytes(2.0 * element * real(operators_.layers * heads_.kv * heads_.dim));
  build_tables();
}

void StepCost::build_tables() {
  const Gpu& gpu = setup_.gpu;
  by_tokens_.resize(static_cast<std::size_t>(setup_.max_tokens) + 1);
  for (const models::Gemm& product : operators_.gemms) add_gemm(by_tokens_, gpu, product);
  for (const models::Elementwise& op : operators_.elementwise) add_elementwise(by_tokens_, gpu, op);
  if (const AllReduceCurve* curve = gpu.all_reduce_of(setup_.tensor_parallel_size))
    add_all_reduces(by_tokens_, *curve, operators_);
  never_falling(by_tokens_);

  by_sampled_.resize(static_cast<std::size_t>(setup_.max_sequences) + 1);
  add_gemm(by_sampled_, gpu, operators_.lm_head);
  add_elementwise(by_sampled_, gpu, operators_.sampler);
  never_falling(by_sampled_);
}

Price StepCost::decode_attention(std::int64_t sequences, std::int64_t context) const {
  const DecodeFit& fit = setup_.gpu.decode_attention;
  const bool on_grid = setup_.decode_kernel == DecodeKernel::flash_decoding &&
                       sequences <= fit.max_batch && context <= sequences * fit.max_context;
  Price price;
  add(price, hw::decode_attention(setup_.gpu, setup_.decode_kernel, heads_, {sequences, context}),
      operators_.layers, on_grid);
  return price;
}

Price StepCost::prefill_attention(const Chunk& chunk) const {
  const PrefillFit& fit = setup_.gpu.prefill_attention;
  const bool on_grid = setup_.prefill_kernel == fit.measured && chunk.past_tokens == 0 &&
                       chunk.new_tokens <= fit.max_length;
  Price price;
  add(price,
      hw::prefill_attention(setup_.gpu, setup_.prefill_kernel, heads_,
                            {.new_tokens = chunk.new_tokens, .past_tokens = chunk.past_tokens}),
      operators_.layers, on_grid);
  return price;
}

Price StepCost::price(const StepShape& shape) const {
  std::int64_t tokens = shape.decode_sequences;
  for (const Chunk& chunk : shape.chunks) tokens += chunk.new_tokens;
  TOKENLINE_CHECK(tokens <= setup_.max_tokens, "a step of {} tokens, at most {}", tokens,
                  setup_.max_tokens);
  TOKENLINE_CHECK(shape.sampled <= setup_.max_sequences, "{} sequences sampled, at most {}",
                  shape.sampled, setup_.max_sequences);
  TOKENLINE_CHECK(shape.decode_context >= shape.decode_sequences, "{} sequences with context {}",
                  shape.decode_sequences, shape.decode_context);
  Price price = by_tokens_[static_cast<std::size_t>(tokens)];
  price += by_sampled_[static_cast<std::size_t>(shape.sampled)];
  if (shape.decode_sequences > 0)
    price += decode_attention(shape.decode_sequences, shape.decode_context);
  for (const Chunk& chunk : shape.chunks) price += prefill_attention(chunk);
  return price;
}

Bytes StepCost::activations(std::int64_t tokens, std::int64_t sampled,
                            std::int64_t score_elements) const {
  const models::Architecture& model = setup_.model;
  const std::int64_t inner = model.intermediate_size / setup_.tensor_parallel_size;
  const std::int64_t mlp = (model.mlp == models::Mlp::gated ? 3 : 2) * inner;
  const std::int64_t attention = 2 * (heads_.q + heads_.kv) * heads_.dim;
  const std::int64_t per_token = 2 * model.hidden_size + std::max(mlp, attention);
  double bytes = element * real(tokens * per_token);
  bytes += (element + 4.0) * real(sampled * model.vocab_size);
  if (setup_.prefill_kernel == PrefillKernel::naive)
    bytes += 2.0 * element * real(score_elements) * real(heads_.q);
  return Bytes(bytes);
}

}  // namespace tokenline::hw
