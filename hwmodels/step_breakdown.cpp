#include <fmt/format.h>

#include <limits>
#include <utility>

#include "hwmodels/step_cost.hpp"
#include "sim/base/check.hpp"
#include "sim/base/integer.hpp"

namespace tokenline::hw {
namespace {

constexpr FlopsPerSecond no_tensor_cores(std::numeric_limits<double>::infinity());

/// Layers of one reach differ in nothing but that.
std::string with_reach(OperatorKind kind, const models::AttentionLayers& layers) {
  if (!layers.window) return std::string(name(kind));
  return fmt::format("{}, window {}", name(kind), *layers.window);
}

}  // namespace

/// Prices each operator into a row of its own by the function that fills the tables with it.
class StepCost::Breakdown {
 public:
  explicit Breakdown(const StepCost& cost)
      : cost_(cost),
        gpu_(cost.setup_.gpu),
        operators_(cost.operators_),
        attention_peak_(attention_peak(gpu_, cost.setup_.kv_element)) {}

  void tokens(std::int64_t count) {
    for (const models::Gemm& op : operators_.gemms) gemm(op, count);
    for (const models::Elementwise& op : operators_.elementwise) elementwise(op, count);
    for (const models::Collective& op : operators_.collectives) collective(op, count);
    if (!operators_.experts) return;
    const models::ExpertLayers& layers = *operators_.experts;
    cost_.add_experts(
        {count, row("experts", OperatorKind::experts, layers.count, gpu_.peak(layers.precision))},
        layers);
  }

  void sampled(std::int64_t count) {
    if (operators_.lm_head.count == 0) return;
    gemm(operators_.lm_head, count);
    elementwise(operators_.sampler, count);
  }

  void decodes(const StepShape& shape) {
    for (const models::Collective& op : operators_.merges)
      collective(op, shape.decode_sequences * shape.decode_queries);
    if (cost_.mla_) {
      const Decode own = cost_.decodes(shape);
      const KernelTerms terms = mla_decode_terms(gpu_, *operators_.mla, own.sequences, own.context,
                                                 own.kv_element, /*projections=*/true);
      cost_.add_latent_decodes(latent(terms), shape);
    }
    for (const models::AttentionLayers& layers : operators_.attention)
      cost_.add_decodes(attention(OperatorKind::decode_attention, layers), shape, layers);
  }

  void chunk(const Chunk& chunk) {
    if (cost_.mla_) {
      const KernelTerms terms =
          mla_prefill_terms(gpu_, *operators_.mla, 1, chunk.new_tokens, chunk.past_tokens,
                            cost_.setup_.kv_element, /*projections=*/true);
      cost_.add_latent_chunk(latent(terms), chunk);
    }
    for (const models::AttentionLayers& layers : operators_.attention)
      cost_.add_chunk(attention(OperatorKind::prefill_attention, layers), chunk, layers);
  }

  [[nodiscard]] std::vector<OperatorPrice> rows() && { return std::move(rows_); }

 private:
  /// The price of a new row.
  std::span<Price> row(std::string_view name, OperatorKind kind, std::int64_t count,
                       FlopsPerSecond peak) {
    return {&rows_.emplace_back(OperatorPrice{std::string(name), kind, count, {}, peak}).price, 1};
  }
  Price& attention(OperatorKind kind, const models::AttentionLayers& layers) {
    return row(with_reach(kind, layers), kind, layers.count, attention_peak_).front();
  }
  Price& latent(const KernelTerms& terms) {
    return row("mla", OperatorKind::mla, operators_.mla->count, terms.peak).front();
  }
  void gemm(const models::Gemm& op, std::int64_t size) {
    cost_.add_gemm({size, row(op.name, OperatorKind::gemm, op.count, gpu_.peak(op.precision))}, op);
  }
  void elementwise(const models::Elementwise& op, std::int64_t size) {
    cost_.add_elementwise(
        {size, row(op.name, OperatorKind::elementwise, op.count, no_tensor_cores)}, op);
  }
  void collective(const models::Collective& op, std::int64_t size) {
    cost_.add_collective(
        {size, row(name(op.op), OperatorKind::collective, op.count, no_tensor_cores)}, op);
  }

  const StepCost& cost_;
  const Gpu& gpu_;
  const models::OperatorList& operators_;
  FlopsPerSecond attention_peak_;
  std::vector<OperatorPrice> rows_;
};

std::vector<OperatorPrice> StepCost::breakdown(const StepShape& shape) const {
  TOKENLINE_CHECK(setup_.parallelism.data == 1, "a breakdown over {} attention groups",
                  setup_.parallelism.data);
  std::int64_t prompts = 0;
  for (const Chunk& chunk : shape.chunks) prompts += chunk.new_tokens;
  const std::int64_t decoded = shape.decode_sequences * shape.decode_queries;
  const std::int64_t tokens = decoded + ceil_div(prompts, setup_.parallelism.context);

  Breakdown breakdown(*this);
  if (tokens > 0) breakdown.tokens(tokens);
  if (shape.sampled > 0) breakdown.sampled(shape.sampled);
  if (shape.decode_sequences > 0) breakdown.decodes(shape);
  for (const Chunk& chunk : shape.chunks) breakdown.chunk(chunk);
  return std::move(breakdown).rows();
}

}  // namespace tokenline::hw
