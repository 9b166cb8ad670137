#include "hwmodels/kernels/gemm.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/hwmodels/builders.hpp"

using namespace tokenline;
using namespace tokenline::hw;
using models::Precision;

TEST_CASE("a product that fills whole waves runs at peak", "[hwmodels]") {
  const GemmShape shape{1280, 1280, 8192};  // 10 × 10 tiles of 128 × 128: one per SM
  const double peak_time = 2.0 * 1280 * 1280 * 8192 / 100e12;
  CHECK(gemm_tile_time(round_sheet(), shape).value() == Approx(peak_time));
}

TEST_CASE("rows short of a tile cost as much as the whole tile", "[hwmodels]") {
  const Datasheet gpu = round_sheet();
  CHECK(gemm_tile_time(gpu, {1, 6400, 512}) == gemm_tile_time(gpu, {64, 6400, 512}));
}

TEST_CASE("one tile more than a wave takes another wave of the best tiles", "[hwmodels]") {
  const Datasheet gpu = round_sheet();
  const Seconds full = gemm_tile_time(gpu, {64, 6400, 256});  // 100 tiles of 64 × 64
  const Seconds more = gemm_tile_time(gpu, {64, 6464, 256});
  CHECK(full.value() == Approx(2.0 * 64 * 64 * 256 / 1e12));
  CHECK(more.value() == Approx(2.0 * full.value()));
}

TEST_CASE("splitting k fills SMs that tiles leave idle, and pays for its parts", "[hwmodels]") {
  const GemmShape shape{64, 64, 16384};  // one tile
  const double parts = 16 * 2.0 * 4.0 * 64 * 64 / 1e12;
  const double sixteenth = 2.0 * 64 * 64 * (16384 / 16) / 1e12;
  CHECK(gemm_tile_time(round_sheet(), shape).value() == Approx(sixteenth + parts));
}

TEST_CASE("fp8 has twice the peak, where there are fp8 tensor cores", "[hwmodels]") {
  Datasheet gpu = round_sheet();
  const auto time = [&](Precision precision) {
    return gemm_tile_time(gpu, {1280, 1280, 8192, precision}).value();
  };
  CHECK(time(Precision::fp8) == Approx(0.5 * time(Precision::bfloat16)));
  CHECK(time(Precision::fp8_block) == time(Precision::fp8));
  CHECK(time(Precision::mxfp4) == time(Precision::bfloat16));
  gpu.peak_8bit = FlopsPerSecond(0.0);
  CHECK(time(Precision::fp8) == time(Precision::bfloat16));
}

TEST_CASE("each matrix crosses HBM once, at the width of its precision", "[hwmodels]") {
  const double m = 16;
  const double n = 4096;
  const double k = 1024;
  const auto bytes = [](Precision precision) {
    return gemm_bytes({16, 4096, 1024, precision}).value();
  };
  CHECK(bytes(Precision::bfloat16) == 2 * (m * k + k * n + m * n));
  CHECK(bytes(Precision::fp8) == m * k + k * n + 2 * m * n);
  CHECK(bytes(Precision::fp8_block) == bytes(Precision::fp8));
  // 4 bits and one 8-bit scale per 32 weights; activations at 16 bit.
  CHECK(bytes(Precision::mxfp4) == 2 * m * k + (0.5 + 1.0 / 32) * k * n + 2 * m * n);
}

TEST_CASE("a product executes 2mnk FLOPs whatever its tiles", "[hwmodels]") {
  CHECK(gemm_terms(round_sheet(), {3, 100, 77}).flops.value() == 2.0 * 3 * 100 * 77);
}

TEST_CASE("weights read once bound small products", "[hwmodels]") {
  const Gpu gpu = round_gpu(ideal_fit());
  const GemmShape shape{1, 8192, 8192};
  const double bytes = 2.0 * (8192.0 * 8192 + 8192 + 8192);
  CHECK(gemm(gpu, shape).bytes.value() == bytes);
  CHECK(gemm(gpu, shape).time.value() == Approx(bytes / 1e12));
}

TEST_CASE("efficiencies and launch of a product enter as t0 + max(compute / e_c, memory / e_m)",
          "[hwmodels]") {
  const Gpu gpu = round_gpu(usual_fit());
  const GemmShape shape = GENERATE(GemmShape{1, 4096, 4096}, GemmShape{4096, 4096, 4096});
  const double compute = gemm_tile_time(gpu, shape).value() / 0.5;
  const double memory = gemm_bytes(shape).value() / 1e12 / 0.8;
  CHECK(gemm(gpu, shape).time.value() == Approx(3e-6 + std::max(compute, memory)));
}

TEST_CASE("the pricer of many m gives the price of each", "[hwmodels]") {
  const Gpu gpu = load_gpu("h100_sxm");
  const Precision precision = GENERATE(Precision::bfloat16, Precision::fp8, Precision::fp8_block);
  GemmPricer pricer(gpu, 1280, 8192, precision);
  const KernelFit& fit = fit_of(gpu.gemm, models::name(precision));
  const GridSlice slice = slice_of(fit, {1280, 8192});
  for (std::int64_t m = 1; m < 3000; m += 97) {
    INFO(m);
    const KernelCost roof = roofline(gpu, fit, gemm_terms(gpu, {m, 1280, 8192, precision}));
    CHECK(pricer(m).time.value() ==
          Approx(roof.time.value() * slice.at(static_cast<double>(m)).factor));
    CHECK(pricer(m).time == gemm(gpu, {m, 1280, 8192, precision}).time);
  }
}

TEST_CASE("a measured product has its measured time", "[hwmodels]") {
  // calib/data/h100_sxm/gemm.csv: bfloat16, 1024 × 4096 × 4096 takes 60.16 µs in its rows'
  // rounding; the text of the grid keeps a thousandth, and neighbours pull it by less than 2 %.
  const Gpu gpu = load_gpu("h100_sxm");
  const KernelCost cost = gemm(gpu, {1024, 4096, 4096});
  CHECK(cost.provenance == Provenance::measured);
}
