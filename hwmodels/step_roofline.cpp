#include "hwmodels/step_roofline.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "hwmodels/kernels/experts.hpp"
#include "hwmodels/kernels/gemm.hpp"
#include "sim/base/check.hpp"
#include "sim/base/integer.hpp"

namespace tokenline::hw {
namespace {

constexpr std::int64_t many_tokens = 8192;

/// What products take at the rates of the datasheet: once for their weights, and per token.
struct ProductTimes {
  Seconds weights;
  Seconds compute_per_token;
  Seconds traffic_per_token;

  [[nodiscard]] std::optional<double> knee() const {
    if (compute_per_token <= traffic_per_token) return {};
    return weights / (compute_per_token - traffic_per_token);
  }
};

/// Of a layer's product: its account is linear in tokens.
void add(ProductTimes& times, const StepSetup& setup, const models::Gemm& op) {
  const KernelTerms one = gemm_terms(setup.gpu, {1, op.n, op.k, op.precision});
  times.weights += real(op.count) * one.fresh / setup.gpu.bandwidth;
  times.compute_per_token += real(op.count) * one.flops / one.peak;
  times.traffic_per_token +=
      real(op.count) * (one.bytes - one.apart - one.fresh) / setup.gpu.bandwidth;
}

/// Of the experts of a layer on one GPU.
Bytes expert_weights(const models::ExpertLayers& layers) {
  const double local = real(layers.experts) / real(layers.expert);
  const double inner = real(layers.intermediate_size) / real(layers.tensor);
  return Bytes(3.0 * local * real(layers.hidden_size) * inner *
               weight_bytes_per_element(layers.precision));
}

std::vector<models::Gemm> products(const models::OperatorList& operators) {
  std::vector<models::Gemm> all = operators.gemms;
  if (operators.lm_head.count > 0) all.push_back(operators.lm_head);
  return all;
}

}  // namespace

std::string_view name(Bound bound) {
  constexpr std::array<std::string_view, 3> names{"compute", "memory", "network"};
  return names.at(static_cast<std::size_t>(bound));
}

FlopsPerByte ridge(const Datasheet& gpu, FlopsPerSecond peak) { return peak / gpu.bandwidth; }

Seconds datasheet_time(const Datasheet& gpu, const OperatorPrice& row) {
  return std::max(row.price.flops / row.peak, row.price.bytes / gpu.bandwidth);
}

Bound bound(const Datasheet& gpu, const OperatorPrice& row) {
  if (row.kind == OperatorKind::collective) return Bound::network;
  return row.price.flops / row.peak >= row.price.bytes / gpu.bandwidth ? Bound::compute
                                                                       : Bound::memory;
}

std::vector<OperatorPrice> merged(const std::vector<OperatorPrice>& rows) {
  std::vector<OperatorPrice> all;
  for (const OperatorPrice& row : rows) {
    const auto same = std::ranges::find(all, row.name, &OperatorPrice::name);
    if (same == all.end()) {
      all.push_back(row);
      continue;
    }
    same->count += row.count;
    same->price += row.price;
  }
  return all;
}

Knee product_knee(const StepSetup& setup, const models::OperatorList& operators) {
  ProductTimes times;
  Seconds one;
  Seconds many;
  for (const models::Gemm& op : products(operators)) {
    add(times, setup, op);
    GemmPricer pricer(setup.gpu, op.n, op.k, op.precision, setup.input_quantization);
    one += real(op.count) * pricer(1).time;
    many += real(op.count) * pricer(many_tokens).time;
  }
  Knee knee{times.knee(), {}};
  if (knee.closed_form) knee.priced = real(many_tokens) * (one / many);
  return knee;
}

std::optional<double> expert_knee(const StepSetup& setup, const models::OperatorList& operators) {
  TOKENLINE_CHECK(operators.experts.has_value(), "a stage of {} without experts", setup.model.name);
  const models::ExpertLayers& layers = *operators.experts;
  // So many that every expert is met.
  const std::int64_t tokens = many_tokens * layers.experts;
  const KernelTerms terms = expert_terms(setup.gpu, layers, tokens);
  const Bytes weights = expert_weights(layers);
  const ProductTimes times{weights / setup.gpu.bandwidth, terms.flops / terms.peak / real(tokens),
                           (terms.bytes - weights) / setup.gpu.bandwidth / real(tokens)};
  return times.knee();
}

namespace {

void add_experts(DecodeArithmetic& sums, const StepSetup& setup,
                 const models::ExpertLayers& layers) {
  const KernelTerms one = expert_terms(setup.gpu, layers, 1);
  sums.flops_per_token += real(layers.count) * one.flops;
  sums.weights += real(layers.count) * one.fresh;
  sums.all_weights += real(layers.count) * (expert_weights(layers) - one.fresh);
}

void add_latent_attention(DecodeArithmetic& sums, const StepSetup& setup,
                          const models::LatentAttentionLayers& layers, std::int64_t context) {
  const auto terms = [&](bool projections) {
    return mla_decode_terms(setup.gpu, layers, 1, context, setup.kv_element, projections);
  };
  const double count = real(layers.count);
  sums.flops_per_token += count * (terms(true).flops - terms(false).flops);
  sums.weights += count * (terms(true).fresh - terms(false).fresh);
  sums.attention += count * terms(false).flops;
  sums.kv += count * terms(false).fresh;
}

}  // namespace

DecodeArithmetic decode_arithmetic(const StepCost& cost, std::int64_t context) {
  const StepSetup& setup = cost.setup();
  const models::OperatorList& operators = cost.operators();
  const Heads heads{operators.q_heads, operators.kv_heads, operators.head_dim};
  DecodeArithmetic sums;
  for (const models::Gemm& op : products(operators)) {
    const KernelTerms one = gemm_terms(setup.gpu, {1, op.n, op.k, op.precision});
    sums.flops_per_token += real(op.count) * one.flops;
    sums.weights += real(op.count) * one.fresh;
  }
  if (operators.experts) add_experts(sums, setup, *operators.experts);
  if (operators.mla) add_latent_attention(sums, setup, *operators.mla, context);
  for (const models::AttentionLayers& layers : operators.attention) {
    const std::int64_t seen = std::min(context, layers.window.value_or(context));
    const KernelTerms terms =
        decode_terms(setup.gpu, setup.decode_kernel, heads, {1, seen, setup.kv_element});
    sums.attention += real(layers.count) * terms.flops;
    sums.kv += real(layers.count) * terms.fresh;
  }
  sums.all_weights += sums.weights;
  sums.kv_equals_weights = sums.all_weights / sums.kv;
  sums.limit = (sums.flops_per_token + sums.attention) / sums.kv;
  const double room = (setup.gpu.memory - cost.weights()) / (real(context) * cost.kv_per_token());
  sums.fitting = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(room)));
  return sums;
}

}  // namespace tokenline::hw
