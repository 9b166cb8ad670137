#include "hwmodels/kernels/mla.hpp"

#include <fmt/format.h>

#include <cmath>

#include "hwmodels/kernels/attention.hpp"
#include "hwmodels/kernels/gemm.hpp"
#include "sim/base/integer.hpp"

namespace tokenline::hw {
namespace {

/// FlashMLA and CUTLASS MLA keep a tile of 64 queries and two of 64 latents: 228 KiB of an SM.
constexpr Bytes flash_mla_shared_memory(228.0 * 1024.0);
/// Where shared memory is smaller, vLLM decodes with Triton: thread blocks of up to 16 heads
/// (BLOCK_H) and a quarter of a context (num_kv_splits, v1/attention/backends/mla/triton_mla.py)
/// that walk it by 32 keys (BLOCK, triton_decode_attention.py).
constexpr double triton_heads = 16.0;
constexpr double triton_splits = 4.0;
constexpr double triton_keys = 32.0;

/// Elements of the projections' weights: those of the latents, which every rank holds, and of
/// heads.
struct Weights {
  double q = 0.0;  ///< Down and up.
  double kv_down = 0.0;
  double kv_up = 0.0;
  double o = 0.0;
  [[nodiscard]] double all() const { return q + kv_down + kv_up + o; }
};

Weights weights_of(const models::LatentAttentionLayers& layers) {
  const models::LatentAttention& dims = layers.dims;
  const double hidden = real(layers.hidden_size);
  const double heads = real(layers.q_heads);
  const double q_width = heads * real(dims.qk_nope_head_dim + dims.qk_rope_head_dim);
  const double latent = real(dims.kv_lora_rank);
  Weights weights;
  weights.q = dims.q_lora_rank ? real(*dims.q_lora_rank) * (hidden + q_width) : hidden * q_width;
  weights.kv_down = hidden * (latent + real(dims.qk_rope_head_dim));
  weights.kv_up = latent * heads * real(dims.qk_nope_head_dim + dims.v_head_dim);
  weights.o = heads * real(dims.v_head_dim) * hidden;
  return weights;
}

void add_projections(KernelTerms& terms, const Datasheet& gpu,
                     const models::LatentAttentionLayers& layers, double tokens,
                     double kv_up_tokens) {
  const Weights weights = weights_of(layers);
  const Flops flops(
      2.0 * (tokens * (weights.q + weights.kv_down + weights.o) + kv_up_tokens * weights.kv_up));
  terms.flops += flops;
  terms.compute += flops / gpu.peak(layers.precision);
  terms.peak = terms.flops / terms.compute;
  const double activations =
      tokens * (3.0 * real(layers.hidden_size) + 2.0 * weights.q / real(layers.hidden_size));
  const Bytes read(weights.all() * weight_bytes_per_element(layers.precision));
  terms.fresh += read;
  terms.bytes += read + Bytes(activations * bytes_16bit);
}

/// K/V blocks that one SM walks, times SMs, when thread blocks fill it one at a time.
double triton_steps(const Datasheet& gpu, std::int64_t heads, std::int64_t sequences,
                    std::int64_t context) {
  const double mean = real(context) / real(sequences);
  const double blocks = real(sequences) * std::ceil(real(heads) / triton_heads) * triton_splits;
  return std::ceil(blocks / real(gpu.sms)) * real(gpu.sms) * mean / triton_splits / triton_keys;
}

}  // namespace

KernelTerms mla_prefill_terms(const Datasheet& gpu, const models::LatentAttentionLayers& layers,
                              std::int64_t batch, std::int64_t new_tokens, std::int64_t past_tokens,
                              std::int64_t kv_element, bool projections) {
  const models::LatentAttention& dims = layers.dims;
  const double queries = real(batch * new_tokens);
  const double keys = real(past_tokens) + 0.5 * real(new_tokens + 1);
  const double widths = real(dims.qk_nope_head_dim + dims.qk_rope_head_dim + dims.v_head_dim);
  const double heads = real(layers.q_heads);
  KernelTerms terms;
  terms.flops = Flops(2.0 * queries * keys * heads * widths);
  terms.compute = terms.flops / gpu.peak_16bit;
  terms.peak = terms.flops / terms.compute;
  // Q and O of heads; K and V of heads, past ones included; the latents into the cache.
  const double all_keys = real(batch * (past_tokens + new_tokens));
  const double latents = real(dims.kv_lora_rank + dims.qk_rope_head_dim);
  terms.bytes = Bytes((queries + all_keys) * heads * widths * bytes_16bit +
                      all_keys * latents * real(kv_element));
  terms.fresh = Bytes(real(batch * past_tokens) * latents * real(kv_element));
  if (projections) add_projections(terms, gpu, layers, queries, all_keys);
  return terms;
}

KernelTerms mla_decode_terms(const Datasheet& gpu, const models::LatentAttentionLayers& layers,
                             std::int64_t sequences, std::int64_t context, std::int64_t kv_element,
                             bool projections) {
  const models::LatentAttention& dims = layers.dims;
  const double latent = real(dims.kv_lora_rank);
  const double rope = real(dims.qk_rope_head_dim);
  const double heads = real(layers.q_heads);
  KernelTerms terms;
  terms.flops = Flops(2.0 * real(context) * heads * (2.0 * latent + rope));
  terms.compute = terms.flops / gpu.peak_16bit;
  terms.peak = terms.flops / terms.compute;
  terms.fresh = Bytes(real(context) * (latent + rope) * real(kv_element));
  terms.bytes = terms.fresh + Bytes(real(sequences) * heads * (2.0 * latent + rope) * bytes_16bit);
  if (gpu.shared_memory_per_sm < flash_mla_shared_memory)
    terms.blocks = triton_steps(gpu, layers.q_heads, sequences, context);
  if (projections) add_projections(terms, gpu, layers, real(sequences), real(sequences));
  return terms;
}

MlaPricer::MlaPricer(const Gpu& gpu, const models::LatentAttentionLayers& layers,
                     std::int64_t kv_element)
    : gpu_(gpu),
      layers_(layers),
      kv_element_(kv_element),
      prefill_(choose(gpu.mla_prefill)),
      decode_(choose(gpu.mla_decode)) {}

MlaPricer::Fit MlaPricer::choose(const KernelFits& fits) const {
  const std::string_view kv = kv_precision(kv_element_);
  const auto fit = [&](const std::string& key, bool projections) {
    const auto found = fits.find(key);
    if (found == fits.end()) return Fit{};
    return Fit{&found->second, true, projections, slice_of(found->second, {layers_.q_heads})};
  };
  if (Fit exact = fit(fmt::format("{} {}", kv, models::name(layers_.precision)), true); exact.fit)
    return exact;
  if (Fit attention = fit(fmt::format("{} attention", kv), false); attention.fit) return attention;
  return {&fit_of(fits, "usual"), false, true, {}};
}

KernelCost MlaPricer::price(const Fit& fit, const KernelTerms& terms, double batch, double length,
                            const KernelTerms& whole) const {
  Correction correction = fit.slice.at(batch, length);
  correction.on_grid = correction.on_grid && fit.exact;
  KernelCost cost = corrected(gpu_, *fit.fit, terms, correction);
  if (fit.projections) return cost;
  KernelTerms rest = whole;
  rest.blocks -= terms.blocks;
  rest.compute -= terms.compute;
  rest.flops -= terms.flops;
  rest.bytes -= terms.bytes;
  rest.peak = rest.flops / rest.compute;
  rest.fresh -= terms.fresh;
  const KernelCost products =
      roofline(gpu_, fit_of(gpu_.gemm, models::name(layers_.precision)), rest);
  return {cost.time + products.time, whole.flops, whole.bytes, Provenance::fitted};
}

KernelCost MlaPricer::prefill(std::int64_t new_tokens, std::int64_t past_tokens,
                              std::int64_t batch) const {
  const auto terms = [&](bool projections) {
    return mla_prefill_terms(gpu_, layers_, batch, new_tokens, past_tokens, kv_element_,
                             projections);
  };
  KernelCost cost =
      price(prefill_, terms(prefill_.projections), real(batch), real(new_tokens), terms(true));
  if (past_tokens > 0 && cost.provenance == Provenance::measured)
    cost.provenance = Provenance::fitted;
  return cost;
}

KernelCost MlaPricer::decode(std::int64_t sequences, std::int64_t context) const {
  const auto terms = [&](bool projections) {
    return mla_decode_terms(gpu_, layers_, sequences, context, kv_element_, projections);
  };
  return price(decode_, terms(decode_.projections), real(sequences),
               real(context) / real(sequences), terms(true));
}

}  // namespace tokenline::hw
