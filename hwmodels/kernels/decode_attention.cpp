#include <algorithm>

#include "hwmodels/kernels/attention.hpp"
#include "sim/base/integer.hpp"

namespace tokenline::hw {
namespace {

constexpr double query_rows = 64.0;
constexpr double part_tokens = 256.0;
constexpr double parts_per_sm = 2.0;

/// Time of one context token of one kv head on one SM, its padded query tile included.
Seconds token_time(const Datasheet& gpu, const Heads& heads) {
  const double rows = query_rows * real((heads.q / heads.kv + 63) / 64);
  const FlopsPerSecond per_sm = gpu.synchronous_mma_share / real(gpu.sms) * gpu.peak_16bit;
  return Flops(4.0 * rows * real(heads.dim)) / per_sm +
         Seconds(rows / (gpu.exponentials_per_clock * gpu.clock.value()));
}

/// Parts of all contexts on all kv heads. Why not rounded up per sequence: added work then never
/// lowers the count.
double part_count(const Datasheet& gpu, const Heads& heads, const Decode& decode) {
  const double whole = real(decode.sequences * heads.kv);
  const double cut = whole + real(decode.context * heads.kv) / part_tokens;
  return std::min(cut, std::max(whole, parts_per_sm * real(gpu.sms)));
}

}  // namespace

KernelTerms decode_terms(const Datasheet& gpu, DecodeKernel kernel, const Heads& heads,
                         const Decode& decode) {
  const double context = real(decode.context);
  const double whole = real(decode.sequences * heads.kv);
  const double group = real(heads.q) / real(heads.kv);
  const bool split = kernel == DecodeKernel::flash_decoding;

  KernelTerms terms;
  terms.blocks = split ? part_count(gpu, heads, decode) : whole;
  // KV tokens of all kv heads per SM when they spread evenly, or of one block that cannot be cut.
  double tokens_per_sm = context * real(heads.kv) / real(gpu.sms);
  if (!split) tokens_per_sm = std::max(tokens_per_sm, context / real(decode.sequences));
  terms.compute = tokens_per_sm * token_time(gpu, heads);
  terms.flops = Flops(4.0 * context * real(heads.q * heads.dim));
  terms.peak = attention_peak(gpu, decode.kv_element);
  terms.fresh = Bytes(2.0 * real(heads.kv * heads.dim) * context * real(decode.kv_element));
  terms.bytes = Bytes(real(heads.dim) * (2.0 * real(decode.kv_element) * context * real(heads.kv) +
                                         4.0 * real(decode.sequences * heads.q)));
  // O, m and l of each part and q head in fp32, written and read.
  if (split) terms.bytes += Bytes(8.0 * terms.blocks * group * real(heads.dim + 2));
  return terms;
}

KernelCost decode_attention(const Gpu& gpu, DecodeKernel kernel, const Heads& heads,
                            const Decode& decode) {
  const KernelFit& fit = fit_of(gpu.decode_attention, kv_precision(decode.kv_element));
  KernelCost cost = roofline(gpu, fit, decode_terms(gpu, kernel, heads, decode));
  cost.time -= merge_launch(gpu, kernel, fit);
  return cost;
}

Seconds merge_launch(const Gpu& gpu, DecodeKernel kernel, const KernelFit& fit) {
  if (kernel != DecodeKernel::plain) return Seconds(0.0);
  return std::min(fit.launch, fit_of(gpu.elementwise, "other").launch);
}

std::array<std::int64_t, 4> attention_shape(const Heads& heads) {
  constexpr std::int64_t shared = 16;  // Four octaves: further than any two head counts matter.
  return {heads.dim, heads.q, heads.kv, heads.q > heads.kv ? shared : 1};
}

FlopsPerSecond attention_peak(const Datasheet& gpu, std::int64_t kv_element) {
  return kv_element == 1 ? std::max(gpu.peak_8bit, gpu.peak_16bit) : gpu.peak_16bit;
}

std::string_view kv_precision(std::int64_t kv_element) {
  return kv_element == 1 ? "fp8" : "bfloat16";
}

}  // namespace tokenline::hw
