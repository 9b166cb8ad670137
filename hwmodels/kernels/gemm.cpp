#include "hwmodels/kernels/gemm.hpp"

#include <algorithm>
#include <array>

#include "sim/base/integer.hpp"

namespace tokenline::hw {
namespace {

struct Tile {
  std::int64_t m;
  std::int64_t n;
};
/// Thread-block tiles that cuBLAS and CUTLASS ship for 16-bit tensor-core products.
constexpr std::array tiles{Tile{64, 64},   Tile{64, 128},  Tile{128, 64},
                           Tile{128, 128}, Tile{128, 256}, Tile{256, 128}};
constexpr std::int64_t row_quantum = 64;  ///< Divides the height of every tile.
constexpr std::array<std::int64_t, 5> splits{1, 2, 4, 8, 16};
constexpr std::int64_t min_split_k = 256;
constexpr Seconds never(1e30);

/// Time of the tiles alone for each split of k; `never` where the parts would be too short.
std::array<Seconds, splits.size()> tile_times(const Datasheet& gpu, const GemmShape& shape) {
  const FlopsPerSecond per_sm = gpu.peak(shape.precision) / real(gpu.sms);
  std::array<Seconds, splits.size()> best;
  best.fill(never);
  for (const Tile& tile : tiles) {
    const std::int64_t blocks = ceil_div(shape.m, tile.m) * ceil_div(shape.n, tile.n);
    const Seconds per_k = Flops(2.0 * real(tile.m * tile.n)) / per_sm;
    for (std::size_t s = 0; s < splits.size(); ++s) {
      if (s > 0 && shape.k < splits[s] * min_split_k) break;
      const std::int64_t waves = ceil_div(blocks * splits[s], gpu.sms);
      best[s] = std::min(best[s], real(waves * ceil_div(shape.k, splits[s])) * per_k);
    }
  }
  return best;
}

/// The best split, with the writing and reading of its fp32 parts.
Seconds best_split(const Datasheet& gpu, const GemmShape& shape,
                   const std::array<Seconds, splits.size()>& times) {
  const Seconds parts = Bytes(2.0 * 4.0 * real(shape.m) * real(shape.n)) / gpu.bandwidth;
  Seconds best = times[0];
  for (std::size_t s = 1; s < splits.size(); ++s)
    best = std::min(best, times[s] + real(splits[s]) * parts);
  return best;
}

bool narrow(models::Precision precision) {
  return precision == models::Precision::fp8 || precision == models::Precision::fp8_block;
}

/// The input read at 16 bit and written at 8.
Bytes quantisation_bytes(const GemmShape& shape) {
  if (!narrow(shape.precision)) return {};
  return Bytes(3.0 * real(shape.m) * real(shape.k));
}

KernelTerms terms(const Datasheet& gpu, const GemmShape& shape, Seconds tile_time) {
  const Flops flops(2.0 * real(shape.m) * real(shape.n) * real(shape.k));
  return {.compute = tile_time,
          .flops = flops,
          .bytes = gemm_bytes(shape) + quantisation_bytes(shape),
          .apart = quantisation_bytes(shape),
          .fresh = Bytes(weight_bytes_per_element(shape.precision) * real(shape.n * shape.k)),
          .peak = gpu.peak(shape.precision)};
}

}  // namespace

double weight_bytes_per_element(models::Precision precision) {
  switch (precision) {
    case models::Precision::bfloat16:
      return 2.0;
    case models::Precision::fp8:
    case models::Precision::fp8_block:
      return 1.0;
    case models::Precision::mxfp4:
      return 17.0 / 32.0;
  }
  return 2.0;
}

Bytes gemm_bytes(const GemmShape& shape) {
  const double weight = weight_bytes_per_element(shape.precision);
  return Bytes((narrow(shape.precision) ? 1.0 : 2.0) * real(shape.m) * real(shape.k) +
               weight * real(shape.k) * real(shape.n) + 2.0 * real(shape.m) * real(shape.n));
}

Seconds gemm_tile_time(const Datasheet& gpu, const GemmShape& shape) {
  return best_split(gpu, shape, tile_times(gpu, shape));
}

KernelTerms gemm_terms(const Datasheet& gpu, const GemmShape& shape) {
  return terms(gpu, shape, gemm_tile_time(gpu, shape));
}

KernelCost gemm(const Gpu& gpu, const GemmShape& shape) {
  return GemmPricer(gpu, shape.n, shape.k, shape.precision)(shape.m);
}

GemmPricer::GemmPricer(const Gpu& gpu, std::int64_t n, std::int64_t k, models::Precision precision,
                       InputQuantization input)
    : gpu_(gpu),
      fit_(fit_of(gpu.gemm, models::name(precision))),
      shape_{0, n, k, precision, input},
      slice_(slice_of(fit_, {n, k})),
      dynamic_launch_(std::max(Seconds(0.0), fit_.launch - fit_of(gpu.gemm, "bfloat16").launch)) {}

KernelCost GemmPricer::operator()(std::int64_t m) {
  shape_.m = m;
  if (const std::int64_t bucket = ceil_div(m, row_quantum); bucket != bucket_) {
    bucket_ = bucket;
    by_split_ = tile_times(gpu_, shape_);
  }
  KernelTerms account = terms(gpu_, shape_, best_split(gpu_, shape_, by_split_));
  const Correction correction = slice_.at(real(m));
  if (!narrow(shape_.precision) || shape_.input == InputQuantization::dynamic)
    return corrected(gpu_, fit_, account, correction);
  const Bytes quantisation = account.apart;
  account.bytes -= account.apart;
  account.apart = {};
  KernelCost cost = corrected(gpu_, fit_, account, correction);
  cost.time -= correction.factor * dynamic_launch_;
  cost.provenance = std::max(cost.provenance, Provenance::fitted);
  cost.time = std::max(cost.time, fastest(gpu_, account));
  if (shape_.input == InputQuantization::streaming) {
    cost.time += roofline(gpu_, fit_of(gpu_.elementwise, "other"), {.bytes = quantisation}).time;
    cost.bytes += quantisation;
  }
  return cost;
}

}  // namespace tokenline::hw
