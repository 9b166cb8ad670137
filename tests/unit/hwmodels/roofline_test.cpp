#include <catch2/catch.hpp>

#include "hwmodels/kernels/elementwise.hpp"
#include "hwmodels/kernels/gemm.hpp"
#include "hwmodels/kernels/kernel_cost.hpp"
#include "tests/unit/hwmodels/builders.hpp"

using namespace tokenline;
using namespace tokenline::hw;

namespace {

KernelFit launched(Seconds launch) {
  KernelFit fit;
  fit.launch = launch;
  return fit;
}

}  // namespace

TEST_CASE("a kernel takes its launch, its blocks and the longer of compute and memory",
          "[hwmodels]") {
  const Datasheet sheet = round_sheet();
  const KernelTerms compute_bound{.blocks = 200, .compute = Seconds(10e-6), .bytes = Bytes(1e6)};
  const KernelTerms memory_bound{.blocks = 200, .compute = Seconds(1e-6), .bytes = Bytes(1e8)};
  CHECK(roofline(sheet, usual_fit(), compute_bound).time.value() ==
        Approx(3e-6 + 200.0 / 100 * 2e-6 + 10e-6 / 0.5));
  CHECK(roofline(sheet, usual_fit(), memory_bound).time.value() ==
        Approx(3e-6 + 200.0 / 100 * 2e-6 + 1e8 / (1e12 * 0.8)));
}

TEST_CASE("a grid multiplies the roofline and makes a price measured", "[hwmodels]") {
  const Datasheet sheet = round_sheet();
  const KernelTerms terms{.compute = Seconds(10e-6)};
  const KernelCost bare = roofline(sheet, usual_fit(), terms);
  const KernelCost inside = corrected(sheet, usual_fit(), terms, {1.25, true});
  CHECK(inside.time.value() == Approx(1.25 * bare.time.value()));
  CHECK(inside.provenance == Provenance::measured);
  const KernelCost outside = corrected(sheet, usual_fit(), terms, {1.25, false});
  CHECK(outside.time == inside.time);
  CHECK(outside.provenance == Provenance::fitted);
}

TEST_CASE("a price of usual constants says that it comes from a datasheet", "[hwmodels]") {
  KernelFit fit = usual_fit();
  fit.from_datasheet = true;
  CHECK(roofline(round_sheet(), fit, {}).provenance == Provenance::datasheet);
}

TEST_CASE("a streaming kernel is its launch and its bytes over its bandwidth", "[hwmodels]") {
  const Gpu gpu = round_gpu(usual_fit());
  const ElementwisePricer norm(gpu, "norm", Bytes(1e4));
  CHECK(norm(100).time.value() == Approx(3e-6 + 1e6 / (1e12 * 0.8)));
  CHECK(norm(100).bytes.value() == 1e6);
  CHECK(norm(100).provenance == Provenance::fitted);
}

TEST_CASE("a streaming kernel that was measured by name has its own grid", "[hwmodels]") {
  Gpu gpu = round_gpu(usual_fit());
  gpu.elementwise.emplace(
      "norm", with_grid(ideal_fit(), {"bytes_per_token"}, {{"tokens", {100}}}, {10'000}, 1.5));
  const ElementwisePricer norm(gpu, "norm", Bytes(1e4));
  CHECK(norm(100).time.value() == Approx(1.5 * 1e6 / 1e12));
  CHECK(norm(100).provenance == Provenance::measured);
  CHECK(norm(101).provenance == Provenance::fitted);
  CHECK(ElementwisePricer(gpu, "rotary", Bytes(1e4))(100).time.value() ==
        Approx(3e-6 + 1e6 / (1e12 * 0.8)));
}

TEST_CASE("a precision that was not measured is priced by the usual fit", "[hwmodels]") {
  KernelFits fits;
  fits.emplace("usual", launched(Seconds(1.0)));
  fits.emplace("bfloat16", launched(Seconds(16.0)));
  fits.emplace("fp8", launched(Seconds(8.0)));
  const auto launch = [&](const char* key) { return fit_of(fits, key).launch.value(); };
  CHECK(launch("bfloat16") == 16.0);
  CHECK(launch("fp8") == 8.0);
  CHECK(launch("fp8_block") == 1.0);
  CHECK(launch("mxfp4") == 1.0);
}

TEST_CASE("a streaming kernel that was not measured is priced by all of them", "[hwmodels]") {
  KernelFits fits;
  fits.emplace("usual", launched(Seconds(1.0)));
  CHECK(fit_of(fits, "norm").launch.value() == 1.0);
  fits.emplace("other", launched(Seconds(2.0)));
  CHECK(fit_of(fits, "norm").launch.value() == 2.0);
}

TEST_CASE(
    "a precision that was not measured has the constants of the next wider one, as of a datasheet",
    "[hwmodels]") {
  const Gpu gpu = load_gpu("h100_sxm");
  const KernelFit& block = fit_of(gpu.gemm, "fp8_block");
  CHECK(block.launch == gpu.gemm.at("fp8").launch);
  CHECK(block.from_datasheet);
  CHECK(fit_of(gpu.experts, "mxfp4 balanced").grid == nullptr);
  // What tiles and splits leave of fp8 is kept, and does not count as measured.
  CHECK(block.grid == gpu.gemm.at("fp8").grid);
  CHECK(gemm(gpu, {64, 4096, 4096, models::Precision::fp8_block}).provenance ==
        Provenance::datasheet);
  CHECK(block.error.median == gpu.gemm.at("usual").error.median);
  CHECK(fit_of(gpu.experts, "mxfp4 balanced").launch == gpu.experts.at("bfloat16 balanced").launch);
}

TEST_CASE("a GPU calibrated at one precision prices others from the datasheet", "[hwmodels]") {
  const Gpu rtx = load_gpu("rtx_4090");
  const GemmShape wide{64, 4096, 4096, models::Precision::bfloat16};
  GemmShape narrow = wide;
  narrow.precision = models::Precision::fp8;
  CHECK(gemm(rtx, wide).provenance == Provenance::measured);
  CHECK(gemm(rtx, narrow).provenance == Provenance::datasheet);
}

TEST_CASE("off the grid a price is no less than peak and bandwidth allow, on it what was measured",
          "[hwmodels]") {
  const Datasheet sheet = round_sheet();
  const KernelTerms terms{
      .flops = Flops(1e9), .bytes = Bytes(2e6), .fresh = Bytes(1e6), .peak = FlopsPerSecond(1e14)};
  CHECK(fastest(sheet, terms) == Seconds(1e-5));
  CHECK(fastest(sheet, {.fresh = Bytes(1e8)}).value() == Approx(1e-4));
  const KernelFit fit = ideal_fit();
  CHECK(corrected(sheet, fit, terms, {0.1, true}).time.value() == Approx(2e-7));
  CHECK(corrected(sheet, fit, terms, {0.1, false}).time == Seconds(1e-5));
}
