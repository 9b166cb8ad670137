#include "hwmodels/kernels/gemm.hpp"

#include <algorithm>
#include <array>

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

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr double real(std::int64_t value) { return static_cast<double>(value); }

/// Time of the tiles alone for each split of k; `never` where the parts would be too short.
std::array<Seconds, splits.size()> tile_times(const Datasheet& gpu, const GemmShape& shape) {
  const FlopsPerSecond per_sm = gpu.peak_16bit / real(gpu.sms);
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

KernelCost cost(const Gpu& gpu, const GemmShape& shape, Seconds tile_time) {
  const Bytes bytes = gemm_bytes(shape);
  const Seconds memory = bytes / (gpu.bandwidth * gpu.gemm.memory_efficiency);
  return {gpu.gemm.launch + std::max(tile_time / gpu.gemm.compute_efficiency, memory),
          Flops(2.0 * real(shape.m) * real(shape.n) * real(shape.k)), bytes};
}

}  // namespace

Bytes gemm_bytes(const GemmShape& shape) {
  return Bytes(2.0 * (real(shape.m) * real(shape.k) + real(shape.k) * real(shape.n) +
                      real(shape.m) * real(shape.n)));
}

Seconds gemm_tile_time(const Datasheet& gpu, const GemmShape& shape) {
  return best_split(gpu, shape, tile_times(gpu, shape));
}

KernelCost gemm(const Gpu& gpu, const GemmShape& shape) {
  return cost(gpu, shape, gemm_tile_time(gpu, shape));
}

GemmPricer::GemmPricer(const Gpu& gpu, std::int64_t n, std::int64_t k) : gpu_(gpu), n_(n), k_(k) {}

KernelCost GemmPricer::operator()(std::int64_t m) {
  const GemmShape shape{m, n_, k_};
  if (const std::int64_t bucket = ceil_div(m, row_quantum); bucket != bucket_) {
    bucket_ = bucket;
    by_split_ = tile_times(gpu_, shape);
  }
  return cost(gpu_, shape, best_split(gpu_, shape, by_split_));
}

}  // namespace tokenline::hw
