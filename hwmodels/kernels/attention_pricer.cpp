#include "hwmodels/kernels/attention_pricer.hpp"

#include <algorithm>

namespace tokenline::hw {
namespace {

constexpr double real(std::int64_t value) { return static_cast<double>(value); }

GridSlice attention_slice(const KernelFits& fits, const Heads& heads, std::int64_t kv_element) {
  const auto found = fits.find(kv_precision(kv_element));
  if (found == fits.end() || !found->second.grid) return {};
  return found->second.grid->slice(attention_shape(heads));
}

}  // namespace

AttentionPricer::AttentionPricer(const Gpu& gpu, PrefillKernel prefill_kernel,
                                 DecodeKernel decode_kernel, const Heads& heads,
                                 std::int64_t kv_element)
    : gpu_(gpu),
      prefill_kernel_(prefill_kernel),
      decode_kernel_(decode_kernel),
      heads_(heads),
      kv_element_(kv_element) {
  // Fused kernels that were not measured share the launch, the tail of half-empty waves and the
  // warm-up of the one that was: what its grid leaves of the account is theirs too, beyond the
  // grid.
  if (prefill_kernel != PrefillKernel::naive)
    prefill_ = attention_slice(gpu.prefill_attention, heads, kv_element);
  if (prefill_kernel == gpu.measured_prefill) {
    chunked_ = attention_slice(gpu.chunked_prefill, heads, kv_element);
    mixed_ = attention_slice(gpu.mixed_decode, heads, kv_element);
  }
  if (decode_kernel == DecodeKernel::flash_decoding)
    decode_ = attention_slice(gpu.decode_attention, heads, kv_element);
}

KernelCost AttentionPricer::prefill(std::int64_t new_tokens, std::int64_t past_tokens,
                                    std::int64_t batch) const {
  const auto chunked = gpu_.chunked_prefill.find(kv_precision(kv_element_));
  const bool measured_after_past = past_tokens > 0 && chunked != gpu_.chunked_prefill.end() &&
                                   prefill_kernel_ == gpu_.measured_prefill;
  Prefill shape{.new_tokens = new_tokens,
                .past_tokens = measured_after_past ? 0 : past_tokens,
                .batch = batch,
                .kv_element = kv_element_};
  KernelCost cost = prefill_attention(gpu_, prefill_kernel_, heads_, shape);
  Correction correction = prefill_.at(real(batch), real(new_tokens));
  correction.on_grid =
      correction.on_grid && past_tokens == 0 && prefill_kernel_ == gpu_.measured_prefill;
  if (measured_after_past) {
    // What past tokens multiply the time by.
    const auto after = [&](std::int64_t past) {
      shape.past_tokens = past;
      const Correction grid = chunked_.at(real(new_tokens), real(std::max<std::int64_t>(1, past)));
      return corrected(gpu_, chunked->second, prefill_terms(gpu_, prefill_kernel_, heads_, shape),
                       grid);
    };
    const KernelCost none = after(0);
    const KernelCost with = after(past_tokens);
    correction.factor *= with.time / none.time;
    correction.on_grid = with.provenance == Provenance::measured;
    cost.flops = with.flops;
    cost.bytes = with.bytes;
  }
  cost.time *= correction.factor;
  if (correction.on_grid) cost.provenance = Provenance::measured;
  return cost;
}

KernelCost AttentionPricer::decode(std::int64_t sequences, std::int64_t context) const {
  KernelCost cost =
      decode_attention(gpu_, decode_kernel_, heads_, {sequences, context, kv_element_});
  const Correction correction = decode_.at(real(sequences), real(context) / real(sequences));
  cost.time *= correction.factor;
  if (correction.on_grid) cost.provenance = Provenance::measured;
  return cost;
}

KernelCost AttentionPricer::mixed_decode(std::int64_t sequences, std::int64_t context) const {
  const Decode shape{sequences, context, kv_element_};
  if (prefill_kernel_ == PrefillKernel::naive) return decode(sequences, context);
  const KernelTerms terms = mixed_decode_terms(gpu_, prefill_kernel_, heads_, shape);
  const std::string_view key = kv_precision(kv_element_);
  const auto measured = gpu_.mixed_decode.find(key);
  if (measured != gpu_.mixed_decode.end())
    return corrected(gpu_, measured->second, terms,
                     mixed_.at(real(sequences), real(context) / real(sequences)));
  // The launch is the chunks'.
  const KernelFit& fit = fit_of(gpu_.prefill_attention, key);
  KernelCost cost = roofline(gpu_, fit, terms);
  cost.time -= fit.launch;
  return cost;
}

const FitError& AttentionPricer::prefill_error() const {
  return fit_of(gpu_.prefill_attention, kv_precision(kv_element_)).error;
}

const FitError& AttentionPricer::decode_error() const {
  return fit_of(gpu_.decode_attention, kv_precision(kv_element_)).error;
}

}  // namespace tokenline::hw
