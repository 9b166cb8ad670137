#include "hwmodels/kernels/gemm.hpp"

#include <catch2/catch.hpp>

using namespace tokenline;
using namespace tokenline::hw;

namespace {

/// Round numbers: 100 SMs of 1 TFLOP/s, 1 TB/s, everything at 100 %.
Gpu ideal() {
  Gpu gpu;
  gpu.sms = 100;
  gpu.peak_16bit = FlopsPerSecond(100e12);
  gpu.bandwidth = BytesPerSecond(1e12);
  gpu.gemm.compute_efficiency = 1.0;
  gpu.gemm.memory_efficiency = 1.0;
  return gpu;
}

}  // namespace

TEST_CASE("a product that fills whole waves runs at peak", "[hwmodels]") {
  const Gpu gpu = ideal();
  const GemmShape shape{1280, 1280, 8192};  // 10 × 10 tiles of 128 × 128: one per SM
  const double peak_time = 2.0 * 1280 * 1280 * 8192 / 100e12;
  CHECK(gemm_tile_time(gpu, shape).value() == Approx(peak_time));
}

TEST_CASE("rows short of a tile cost as much as the whole tile", "[hwmodels]") {
  const Gpu gpu = ideal();
  CHECK(gemm_tile_time(gpu, {1, 6400, 512}) == gemm_tile_time(gpu, {64, 6400, 512}));
}

TEST_CASE("one tile more than a wave takes another wave of the best tiles", "[hwmodels]") {
  const Gpu gpu = ideal();
  const Seconds full = gemm_tile_time(gpu, {64, 6400, 256});  // 100 tiles of 64 × 64
  const Seconds more = gemm_tile_time(gpu, {64, 6464, 256});
  CHECK(full.value() == Approx(2.0 * 64 * 64 * 256 / 1e12));
  CHECK(more.value() == Approx(2.0 * full.value()));
}

TEST_CASE("splitting k fills SMs that tiles leave idle, and pays for its parts", "[hwmodels]") {
  const Gpu gpu = ideal();
  const GemmShape shape{64, 64, 16384};  // one tile
  const double parts = 16 * 2.0 * 4.0 * 64 * 64 / 1e12;
  const double sixteenth = 2.0 * 64 * 64 * (16384 / 16) / 1e12;
  CHECK(gemm_tile_time(gpu, shape).value() == Approx(sixteenth + parts));
}

TEST_CASE("weights read once bound small products", "[hwmodels]") {
  const Gpu gpu = ideal();
  const GemmShape shape{1, 8192, 8192};
  const double bytes = 2.0 * (8192.0 * 8192 + 8192 + 8192);
  CHECK(gemm(gpu, shape).bytes.value() == bytes);
  CHECK(gemm(gpu, shape).time.value() == Approx(bytes / 1e12));
}

TEST_CASE("efficiencies and launch enter as t0 + max(compute / e_c, memory / e_m)", "[hwmodels]") {
  Gpu gpu = ideal();
  gpu.gemm.launch = Seconds(3e-6);
  gpu.gemm.compute_efficiency = 0.5;
  gpu.gemm.memory_efficiency = 0.8;
  const GemmShape shape = GENERATE(GemmShape{1, 4096, 4096}, GemmShape{4096, 4096, 4096});
  const double compute = gemm_tile_time(gpu, shape).value() / 0.5;
  const double memory = gemm_bytes(shape).value() / 1e12 / 0.8;
  CHECK(gemm(gpu, shape).time.value() == Approx(3e-6 + std::max(compute, memory)));
}

TEST_CASE("the pricer of many m gives the price of each", "[hwmodels]") {
  const Gpu gpu = load_gpu("h100_sxm");
  GemmPricer pricer(gpu, 1280, 8192);
  for (std::int64_t m = 1; m < 3000; m += 7) {
    INFO(m);
    CHECK(pricer(m).time == gemm(gpu, {m, 1280, 8192}).time);
  }
}
