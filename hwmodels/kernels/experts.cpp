#include "hwmodels/kernels/experts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hwmodels/kernels/gemm.hpp"
#include "sim/base/integer.hpp"

namespace tokenline::hw {
namespace {

constexpr double row_tile = 16.0;

}  // namespace

const KernelFit& fit_of_load(const KernelFits& fits, std::string_view precision,
                             std::string_view load) {
  const std::string exact = fmt::format("{} {}", precision, load);
  if (fits.contains(exact)) return fit_of(fits, exact);
  const auto other = std::ranges::find_if(fits, [&](const auto& entry) {
    return entry.first.starts_with(fmt::format("{} ", precision));
  });
  return other != fits.end() ? other->second : fit_of(fits, exact);
}

KernelTerms expert_terms(const Datasheet& gpu, const models::ExpertLayers& layers,
                         std::int64_t tokens) {
  const double local = real(layers.experts) / real(layers.expert);
  const double rows = real(tokens * layers.experts_per_token) / real(layers.expert);
  const double met = std::min(local, std::max(1.0, local * (1.0 - std::exp(-rows / local))));
  const double hidden = real(layers.hidden_size);
  const double inner = real(layers.intermediate_size) / real(layers.tensor);
  const double padded = met * std::ceil(rows / met / row_tile) * row_tile;
  const Flops useful(6.0 * rows * hidden * inner);
  const double per_row = 3.0 * hidden + 5.0 * inner;

  KernelTerms terms;
  terms.compute = Flops(6.0 * padded * hidden * inner) / gpu.peak(layers.precision);
  terms.flops = useful;
  terms.peak = gpu.peak(layers.precision);
  const Bytes expert(3.0 * hidden * inner * weight_bytes_per_element(layers.precision));
  // However tokens choose, each chooses different experts.
  terms.fresh = std::min(met, real(layers.experts_per_token) / real(layers.expert)) * expert;
  terms.bytes = met * expert + Bytes(rows * per_row * bytes_16bit);
  return terms;
}

ExpertPricer::ExpertPricer(const Gpu& gpu, const models::ExpertLayers& layers,
                           std::string_view load)
    : gpu_(gpu),
      layers_(layers),
      fit_(fit_of_load(gpu.experts, models::name(layers.precision), load)),
      measured_(gpu.experts.contains(fmt::format("{} {}", models::name(layers.precision), load))),
      slice_(slice_of(fit_, {layers.hidden_size, layers.intermediate_size, layers.experts_per_token,
                             layers.experts, layers.tensor, layers.expert})) {}

KernelCost ExpertPricer::operator()(std::int64_t tokens) const {
  Correction correction = slice_.at(real(tokens));
  correction.on_grid = correction.on_grid && measured_;
  return corrected(gpu_, fit_, expert_terms(gpu_, layers_, tokens), correction);
}

}  // namespace tokenline::hw
