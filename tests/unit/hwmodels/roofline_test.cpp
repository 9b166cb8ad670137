#include <catch2/catch.hpp>

#include "hwmodels/kernels/elementwise.hpp"
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

TEST_CASE("a precision that was not measured falls back to the next wider one", "[hwmodels]") {
  KernelFits fits;
  const auto launch = [&](const char* key) { return fit_of(fits, key).launch.value(); };
  const auto add = [&](const char* key, double seconds) {
    fits.emplace(key, launched(Seconds(seconds)));
  };
  add("bfloat16", 16.0);
  CHECK(launch("bfloat16") == 16.0);
  CHECK(launch("fp8") == 16.0);
  CHECK(launch("fp8_block") == 16.0);
  CHECK(launch("mxfp4") == 16.0);
  add("fp8", 8.0);
  CHECK(launch("fp8") == 8.0);
  CHECK(launch("fp8_block") == 8.0);
  CHECK(launch("mxfp4") == 16.0);
}

TEST_CASE("an expert load that was not measured takes another of the same precision",
          "[hwmodels]") {
  KernelFits fits;
  fits.emplace("bfloat16 power_law_1.2", launched(Seconds(1.0)));
  fits.emplace("fp8 balanced", launched(Seconds(2.0)));
  CHECK(fit_of(fits, "bfloat16 balanced").launch.value() == 1.0);
  CHECK(fit_of(fits, "fp8 power_law_1.2").launch.value() == 2.0);
  CHECK(fit_of(fits, "fp8_block balanced").launch.value() == 2.0);
  CHECK(fit_of(fits, "mxfp4 balanced").launch.value() == 1.0);
}
