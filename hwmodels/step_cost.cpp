#include "hwmodels/step_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "hwmodels/kernels/collective.hpp"
#include "hwmodels/kernels/elementwise.hpp"
#include "hwmodels/kernels/experts.hpp"
#include "hwmodels/kernels/gemm.hpp"
#include "hwmodels/network/cluster_collective.hpp"
#include "hwmodels/network/placement.hpp"
#include "sim/base/check.hpp"
#include "sim/base/integer.hpp"

namespace tokenline::hw {
namespace {

/// FlashAttention-2 and -3 are built for heads up to this width.
constexpr std::int64_t max_head_dim = 256;
constexpr std::array<std::string_view, operator_kinds> operator_names{
    "gemm", "prefill_attention", "decode_attention", "experts", "mla", "elementwise", "collective"};

/// Why a collective is not priced; empty if it is.
std::string refuse(const StepSetup& setup, std::int64_t stage, const models::Collective& op) {
  if (setup.network)
    return ClusterCollective::first_refusal(
        setup.gpu, op.op, rank_groups(setup.gpus, setup.parallelism, stage, op.group));
  if (CollectivePricer::priced(setup.gpu, op.op, op.gpus)) return {};
  return fmt::format(
      "{} over {} GPUs was not measured on {}, whose datasheet states no interconnect", name(op.op),
      op.gpus, setup.gpu.name);
}

/// The rings of context ranks; without a network of so many GPUs of one node.
std::vector<std::vector<Vertex>> rings(const StepSetup& setup, std::int64_t stage) {
  const models::Parallelism& parallelism = setup.parallelism;
  if (setup.network) return rank_groups(setup.gpus, parallelism, stage, models::RankGroup::context);
  std::vector<Vertex> ring;
  for (std::int64_t i = 0; i < parallelism.context; ++i) ring.push_back(gpu_at(0, i));
  return {ring};
}

std::string refuse_stage(const StepSetup& setup, std::int64_t stage) {
  const models::OperatorList list = models::operators(setup.model, setup.parallelism, stage);
  for (const auto* ops : {&list.collectives, &list.merges})
    for (const models::Collective& op : *ops)
      if (std::string refusal = refuse(setup, stage, op); !refusal.empty()) return refusal;
  if (setup.parallelism.context == 1) return {};
  return RingTransfer::first_refusal(setup.gpu, rings(setup, stage));
}

std::string refuse_degree(const StepSetup& setup) {
  const models::Parallelism& parallelism = setup.parallelism;
  if (std::string mistake = models::first_sharding_mistake(setup.model, parallelism);
      !mistake.empty())
    return mistake;
  if (!setup.network && parallelism.gpus() > setup.gpu.gpus_per_node)
    return fmt::format("a replica of {} GPUs spans nodes of {}, and no network connects them",
                       parallelism.gpus(), setup.gpu.gpus_per_node);
  for (std::int64_t stage = 0; stage < parallelism.pipeline; ++stage)
    if (std::string refusal = refuse_stage(setup, stage); !refusal.empty()) return refusal;
  return {};
}

}  // namespace

std::string_view name(OperatorKind kind) {
  return operator_names.at(static_cast<std::size_t>(kind));
}

Seconds OperatorTimes::total() const {
  Seconds sum;
  for (const Seconds time : by_kind) sum += time;
  return sum;
}

OperatorTimes& OperatorTimes::operator+=(const OperatorTimes& other) {
  for (std::size_t i = 0; i < operator_kinds; ++i) by_kind[i] += other.by_kind[i];
  return *this;
}

OperatorTimes& OperatorTimes::operator-=(const OperatorTimes& other) {
  for (std::size_t i = 0; i < operator_kinds; ++i) by_kind[i] -= other.by_kind[i];
  return *this;
}

std::string StepCost::first_refusal(const StepSetup& setup) {
  if (!setup.model.mla && setup.model.head_dim > max_head_dim)
    return fmt::format("attention kernels reach head_dim {}; {} has {}", max_head_dim,
                       setup.model.name, setup.model.head_dim);
  if (setup.prefill_kernel == PrefillKernel::fa3 && setup.gpu.generation != Generation::hopper)
    return fmt::format(
        "fa3 needs the asynchronous wgmma and TMA instructions of Hopper; {} has none",
        setup.gpu.name);
  return refuse_degree(setup);
}

StepCost::StepCost(const StepSetup& setup, std::int64_t stage) : setup_(setup), stage_(stage) {
  if (const std::string refusal = first_refusal(setup); !refusal.empty())
    throw std::invalid_argument(refusal);
  if (setup.max_tokens < 1 || setup.max_sequences < 1)
    throw std::invalid_argument("a step holds at least one token and one sequence");
  operators_ = models::operators(setup.model, setup.parallelism, stage);
  heads_ = {operators_.q_heads, operators_.kv_heads, operators_.head_dim};
  if (operators_.mla)
    mla_.emplace(setup_.gpu, *operators_.mla, setup.kv_element);
  else
    attention_.emplace(setup_.gpu, setup.prefill_kernel, setup.decode_kernel, heads_,
                       setup.kv_element);
  weights_ = models::weight_bytes(setup.model, setup.parallelism, stage);
  kv_per_token_ =
      models::kv_bytes_per_token(setup.model, setup.parallelism, setup.kv_element, stage);
  build_tables();
}

void StepCost::add(Price& price, OperatorKind kind, const KernelCost& cost, std::int64_t count,
                   double error) const {
  const double times = real(count);
  const Seconds time = times * std::max(0.0, 1.0 + setup_.error_band * error) * cost.time;
  price.time += time;
  price.flops += times * cost.flops;
  price.bytes += times * cost.bytes;
  price.error += error * times * cost.time;
  if (cost.provenance != Provenance::measured) price.off_grid[kind] += time;
}

void StepCost::add_gemm(Sizes table, const models::Gemm& product) const {
  GemmPricer pricer(setup_.gpu, product.n, product.k, product.precision, setup_.input_quantization);
  for (std::int64_t size = table.first; Price & price : table.prices)
    add(price, OperatorKind::gemm, pricer(size++), product.count, pricer.fit().error.median);
}

void StepCost::add_elementwise(Sizes table, const models::Elementwise& op) const {
  const ElementwisePricer pricer(setup_.gpu, op.name, op.bytes_per_token);
  for (std::int64_t size = table.first; Price & price : table.prices)
    add(price, OperatorKind::elementwise, pricer(size++), op.count, pricer.fit().error.median);
}

void StepCost::add_collective(Sizes table, const models::Collective& op) const {
  const auto fill = [&](const auto& pricer) {
    for (std::int64_t size = table.first; Price & price : table.prices)
      add(price, OperatorKind::collective, pricer(real(size++) * op.bytes_per_token), op.count,
          pricer.error().median);
  };
  if (setup_.network)
    fill(ClusterCollective(setup_.gpu, *setup_.network, op.op,
                           rank_groups(setup_.gpus, setup_.parallelism, stage_, op.group)));
  else
    fill(CollectivePricer(setup_.gpu, op.op, op.gpus));
}

void StepCost::add_experts(Sizes table, const models::ExpertLayers& layers) const {
  const ExpertPricer pricer(setup_.gpu, layers, setup_.expert_load);
  for (std::int64_t size = table.first; Price & price : table.prices)
    add(price, OperatorKind::experts, pricer(size++ * setup_.parallelism.data), layers.count,
        pricer.fit().error.median);
}

void StepCost::build_tables() {
  const std::int64_t groups = setup_.parallelism.data;
  // Prices of no token stay zero.
  const auto from_one = [](std::vector<Price>& table) {
    return Sizes{1, std::span(table).subspan(1)};
  };
  by_tokens_.resize(static_cast<std::size_t>(ceil_div(setup_.max_tokens, groups)) + 1);
  const Sizes tokens = from_one(by_tokens_);
  for (const models::Gemm& product : operators_.gemms) add_gemm(tokens, product);
  for (const models::Elementwise& op : operators_.elementwise) add_elementwise(tokens, op);
  for (const models::Collective& op : operators_.collectives) add_collective(tokens, op);
  if (operators_.experts) add_experts(tokens, *operators_.experts);
  if (setup_.parallelism.context > 1) {
    ring_.emplace(setup_.gpu, setup_.network.get(), rings(setup_, stage_));
    merges_.resize(static_cast<std::size_t>(ceil_div(setup_.max_sequences, groups)) + 1);
    for (const models::Collective& op : operators_.merges) add_collective(from_one(merges_), op);
  }

  by_sampled_.resize(static_cast<std::size_t>(ceil_div(setup_.max_sequences, groups)) + 1);
  if (operators_.lm_head.count == 0) return;
  add_gemm(from_one(by_sampled_), operators_.lm_head);
  add_elementwise(from_one(by_sampled_), operators_.sampler);
}

Decode StepCost::decodes(const StepShape& shape) const {
  const std::int64_t groups = setup_.parallelism.data;
  const std::int64_t sequences = ceil_div(shape.decode_sequences, groups);
  // Of the KV; each context rank has all sequences.
  const std::int64_t context =
      std::max(sequences, ceil_div(shape.decode_context, groups * setup_.parallelism.context));
  return {sequences, context, setup_.kv_element};
}

KernelCost StepCost::verifying(KernelCost cost, std::int64_t queries) const {
  if (queries == 1) return cost;
  cost.flops *= real(queries);
  cost.time = std::max(cost.time, cost.flops / setup_.gpu.peak_16bit);
  cost.provenance = std::max(cost.provenance, Provenance::fitted);
  return cost;
}

void StepCost::add_latent_decodes(Price& price, const StepShape& shape) const {
  const Decode own = decodes(shape);
  add(price, OperatorKind::mla,
      verifying(mla_->decode(own.sequences, own.context), shape.decode_queries),
      operators_.mla->count, mla_->decode_error().median);
}

void StepCost::add_decodes(Price& price, const StepShape& shape,
                           const models::AttentionLayers& layers) const {
  const Decode own = decodes(shape);
  const bool mixed = setup_.fused_mixed_attention && !shape.chunks.empty();
  const std::int64_t seen =
      layers.window ? std::min(own.context, own.sequences * *layers.window) : own.context;
  const KernelCost cost = mixed ? attention_->mixed_decode(own.sequences, seen)
                                : attention_->decode(own.sequences, seen);
  add(price, OperatorKind::decode_attention, verifying(cost, shape.decode_queries), layers.count,
      attention_->decode_error().median);
}

void StepCost::add_decodes(Price& price, const StepShape& shape) const {
  if (ring_)
    price += merges_[static_cast<std::size_t>(
        ceil_div(shape.decode_sequences * shape.decode_queries, setup_.parallelism.data))];
  if (mla_) return add_latent_decodes(price, shape);
  for (const models::AttentionLayers& layers : operators_.attention)
    add_decodes(price, shape, layers);
}

KernelCost StepCost::prefill_attention(const Chunk& chunk) const {
  if (!ring_) return attention_->prefill(chunk.new_tokens, chunk.past_tokens);
  // A hop does 1/ranks² of the work: new/ranks queries that see past/ranks before their triangle.
  const std::int64_t ranks = setup_.parallelism.context;
  const std::int64_t held = ceil_div(chunk.past_tokens + chunk.new_tokens, ranks);
  const Bytes token(real(2 * heads_.kv * heads_.dim * setup_.kv_element));
  return ring_attention(
      attention_->prefill(ceil_div(chunk.new_tokens, ranks), ceil_div(chunk.past_tokens, ranks)),
      (*ring_)(real(held) * token), ranks);
}

void StepCost::add_latent_chunk(Price& price, const Chunk& chunk) const {
  add(price, OperatorKind::mla, mla_->prefill(chunk.new_tokens, chunk.past_tokens),
      operators_.mla->count, mla_->prefill_error().median);
}

void StepCost::add_chunk(Price& price, const Chunk& chunk,
                         const models::AttentionLayers& layers) const {
  KernelCost cost;
  if (!layers.window || chunk.new_tokens <= *layers.window) {
    const std::int64_t reach = layers.window.value_or(chunk.past_tokens);
    cost = prefill_attention({chunk.new_tokens, std::min(chunk.past_tokens, reach)});
  } else {
    // A band of the window's width as pieces of equal work: `window` queries that see half a
    // window before them and their own triangle.
    const std::int64_t window = *layers.window;
    cost = attention_->prefill(window, window / 2, ceil_div(chunk.new_tokens, window));
  }
  add(price, OperatorKind::prefill_attention, cost, layers.count,
      attention_->prefill_error().median);
}

void StepCost::add_chunk(Price& price, const Chunk& chunk) const {
  if (mla_) return add_latent_chunk(price, chunk);
  for (const models::AttentionLayers& layers : operators_.attention)
    add_chunk(price, chunk, layers);
}

Price StepCost::price(const StepShape& shape) const {
  const std::int64_t decoded = shape.decode_sequences * shape.decode_queries;
  std::int64_t tokens = decoded;
  for (const Chunk& chunk : shape.chunks) tokens += chunk.new_tokens;
  TOKENLINE_CHECK(tokens <= setup_.max_tokens, "a step of {} tokens, at most {}", tokens,
                  setup_.max_tokens);
  TOKENLINE_CHECK(shape.sampled <= setup_.max_sequences, "{} tokens sampled, at most {}",
                  shape.sampled, setup_.max_sequences);
  TOKENLINE_CHECK(shape.decode_context >= shape.decode_sequences * shape.decode_queries,
                  "{} sequences with context {}", shape.decode_sequences, shape.decode_context);
  const std::int64_t groups = setup_.parallelism.data;
  const std::int64_t own = decoded + ceil_div(tokens - decoded, setup_.parallelism.context);
  Price price = by_tokens_[static_cast<std::size_t>(ceil_div(own, groups))];
  price += by_sampled_[static_cast<std::size_t>(ceil_div(shape.sampled, groups))];
  if (shape.decode_sequences > 0) add_decodes(price, shape);
  if (groups == 1) {
    for (const Chunk& chunk : shape.chunks) add_chunk(price, chunk);
    return price;
  }
  // Each chunk runs in one group; the groups wait for the slowest, at least a mean share of all.
  Price all;
  Price slowest;
  for (const Chunk& chunk : shape.chunks) {
    Price one;
    add_chunk(one, chunk);
    all += one;
    if (one.time > slowest.time) slowest = one;
  }
  const double share = 1.0 / real(groups);
  if (share * all.time > slowest.time) {
    slowest = all;
    slowest *= share;
  }
  price += slowest;
  return price;
}

Bytes StepCost::activations(std::int64_t tokens, std::int64_t sampled,
                            std::int64_t score_elements) const {
  const models::Architecture& model = setup_.model;
  const std::int64_t tensor = setup_.parallelism.tensor;
  const std::int64_t ranks = setup_.parallelism.context;
  // At most: context ranks divide prompts, and as many as there may be are decodes.
  const std::int64_t undivided = ranks == 1 ? tokens : std::min(tokens, setup_.max_sequences);
  const std::int64_t own =
      ceil_div(undivided + ceil_div(tokens - undivided, ranks), setup_.parallelism.data);
  const std::int64_t inner = model.intermediate_size / tensor;
  const std::int64_t mlp = (model.mlp == models::Mlp::gated ? 3 : 2) * inner;
  const std::int64_t attention = 2 * (heads_.q + heads_.kv) * heads_.dim;
  const std::int64_t per_token = 2 * model.hidden_size + std::max(mlp, attention);
  double bytes = bytes_16bit * real(own * per_token);
  if (operators_.experts) {
    // vLLM's fused experts: rows of gate and up, reused for those of down, and of the activation.
    const models::ExpertLayers& layers = *operators_.experts;
    const std::int64_t width = layers.intermediate_size / layers.tensor;
    const std::int64_t rows = ceil_div(tokens * layers.experts_per_token, layers.expert);
    const double experts =
        bytes_16bit * (real(rows) * real(std::max(2 * width, layers.hidden_size) + width) +
                       real(own * 2 * model.hidden_size));
    bytes = std::max(bytes, experts);
  }
  if (operators_.lm_head.count > 0)
    bytes +=
        (bytes_16bit + 4.0) * real(ceil_div(sampled, setup_.parallelism.data) * model.vocab_size);
  if (setup_.prefill_kernel == PrefillKernel::naive)
    bytes += 2.0 * bytes_16bit * real(score_elements) * real(heads_.q) / real(ranks * ranks);
  return Bytes(bytes);
}

}  // namespace tokenline::hw
