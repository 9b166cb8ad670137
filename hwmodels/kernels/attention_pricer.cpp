#include "hwmodels/kernels/attention_pricer.hpp"

#include <algorithm>

#include "sim/base/integer.hpp"

namespace tokenline::hw {
namespace {

/// The fit of a KV cache of that element; null where it was not measured.
const KernelFit* measured(const KernelFits& fits, std::int64_t kv_element) {
  const auto found = fits.find(kv_precision(kv_element));
  return found == fits.end() ? nullptr : &found->second;
}

GridSlice attention_slice(const KernelFit* fit, const Heads& heads) {
  if (fit == nullptr || !fit->grid) return {};
  return fit->grid->slice(attention_shape(heads));
}

}  // namespace

AttentionPricer::AttentionPricer(const Gpu& gpu, PrefillKernel prefill_kernel,
                                 DecodeKernel decode_kernel, const Heads& heads,
                                 std::int64_t kv_element)
    : gpu_(gpu),
      prefill_kernel_(prefill_kernel),
      decode_kernel_(decode_kernel),
      heads_(heads),
      kv_element_(kv_element),
      prefill_fit_(fit_of(gpu.prefill_attention, kv_precision(kv_element))),
      decode_fit_(fit_of(gpu.decode_attention, kv_precision(kv_element))),
      chunked_fit_(prefill_kernel == usual_prefill(gpu.generation)
                       ? measured(gpu.chunked_prefill, kv_element)
                       : nullptr),
      mixed_fit_(measured(gpu.mixed_decode, kv_element)) {
  // Fused kernels that were not measured share the launch, the tail of half-empty waves and the
  // warm-up of the one that was: what its grid leaves of the account is theirs too, beyond the
  // grid.
  if (prefill_kernel != PrefillKernel::naive)
    prefill_ = attention_slice(measured(gpu.prefill_attention, kv_element), heads);
  if (prefill_kernel == usual_prefill(gpu.generation)) {
    chunked_ = attention_slice(chunked_fit_, heads);
    mixed_ = attention_slice(mixed_fit_, heads);
  }
  merge_launch_ = merge_launch(gpu, decode_kernel, decode_fit_);
  if (decode_kernel == DecodeKernel::flash_decoding)
    decode_ = attention_slice(measured(gpu.decode_attention, kv_element), heads);
}

KernelCost AttentionPricer::prefill(std::int64_t new_tokens, std::int64_t past_tokens,
                                    std::int64_t batch) const {
  const Prefill shape{.new_tokens = new_tokens,
                      .past_tokens = past_tokens,
                      .batch = batch,
                      .kv_element = kv_element_};
  if (prefill_kernel_ == PrefillKernel::naive)
    return prefill_attention(gpu_, prefill_kernel_, heads_, shape);
  const KernelTerms terms = prefill_terms(gpu_, prefill_kernel_, heads_, shape);
  KernelCost cost = roofline(gpu_, prefill_fit_, terms);
  Correction correction = prefill_.at(real(batch), real(new_tokens));
  correction.on_grid =
      correction.on_grid && past_tokens == 0 && prefill_kernel_ == usual_prefill(gpu_.generation);
  if (past_tokens > 0 && chunked_fit_ != nullptr) {
    // What past tokens multiply the time by.
    Prefill first = shape;
    first.past_tokens = 0;
    const KernelTerms none = prefill_terms(gpu_, prefill_kernel_, heads_, first);
    const auto grid = [&](std::int64_t past) { return chunked_.at(real(new_tokens), real(past)); };
    const KernelCost with = corrected(gpu_, *chunked_fit_, terms, grid(past_tokens));
    const KernelCost without = corrected(gpu_, *chunked_fit_, none, grid(1));
    correction.factor *= with.time / without.time;
    correction.on_grid = with.provenance == Provenance::measured;
    cost.time = roofline(gpu_, prefill_fit_, none).time;
  }
  return corrected(gpu_, terms, cost, correction);
}

KernelCost AttentionPricer::decode(std::int64_t sequences, std::int64_t context) const {
  const Decode shape{sequences, context, kv_element_};
  const KernelTerms terms = decode_terms(gpu_, decode_kernel_, heads_, shape);
  KernelCost cost = roofline(gpu_, decode_fit_, terms);
  cost.time -= merge_launch_;
  return corrected(gpu_, terms, cost, decode_.at(real(sequences), real(context) / real(sequences)));
}

KernelCost AttentionPricer::mixed_decode(std::int64_t sequences, std::int64_t context) const {
  const Decode shape{sequences, context, kv_element_};
  if (prefill_kernel_ == PrefillKernel::naive) return decode(sequences, context);
  const KernelTerms terms = mixed_decode_terms(gpu_, prefill_kernel_, heads_, shape);
  if (mixed_fit_ != nullptr)
    return corrected(gpu_, *mixed_fit_, terms,
                     mixed_.at(real(sequences), real(context) / real(sequences)));
  // The launch is the chunks'.
  KernelCost cost = roofline(gpu_, prefill_fit_, terms);
  cost.time -= prefill_fit_.launch;
  return cost;
}

}  // namespace tokenline::hw
