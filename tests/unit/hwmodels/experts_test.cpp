#include "hwmodels/kernels/experts.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/unit/hwmodels/builders.hpp"

using namespace tokenline;
using namespace tokenline::hw;

namespace {

/// 64 experts of 1024 × 512, four per token.
models::ExpertLayers expert_layers() {
  return {.count = 1,
          .hidden_size = 1024,
          .intermediate_size = 512,
          .experts = 64,
          .experts_per_token = 4,
          .tensor = 1,
          .expert = 1,
          .precision = models::Precision::bfloat16};
}

constexpr double matrices = 3.0 * 1024 * 512;             ///< Weights of one expert.
constexpr double per_row = (3.0 * 1024 + 5.0 * 512) * 2;  ///< Bytes of a row's activations.

}  // namespace

TEST_CASE("one token reads the experts it chose, and no others", "[hwmodels]") {
  const KernelTerms terms = expert_terms(round_sheet(), expert_layers(), 1);
  // Four draws of 64 meet 64 · (1 − e^(−4/64)) = 3.9: two draws may meet the same expert.
  const double met = 64.0 * (1.0 - std::exp(-4.0 / 64.0));
  CHECK(met == Approx(4.0).epsilon(0.04));
  CHECK(terms.bytes.value() == Approx(met * matrices * 2 + 4 * per_row));
  CHECK(terms.flops.value() == 2.0 * 4 * matrices);
}

TEST_CASE("many tokens read every expert once", "[hwmodels]") {
  const KernelTerms terms = expert_terms(round_sheet(), expert_layers(), 10'000);
  CHECK(terms.bytes.value() == Approx(64 * matrices * 2 + 40'000 * per_row));
  CHECK(terms.flops.value() == 2.0 * 40'000 * matrices);
}

TEST_CASE("rows of an expert are padded to 16 in time, not in FLOPs", "[hwmodels]") {
  // 1600 tokens · 4 / 64 = 100 rows per expert: 112 padded.
  const KernelTerms terms = expert_terms(round_sheet(), expert_layers(), 1600);
  CHECK(terms.flops.value() == 2.0 * 6400 * matrices);
  CHECK(terms.compute.value() == Approx(2.0 * 64 * 112 * matrices / 100e12));
}

TEST_CASE("experts spread over GPUs share rows and weights, split experts share widths",
          "[hwmodels]") {
  models::ExpertLayers spread = expert_layers();
  spread.expert = 8;
  models::ExpertLayers split = expert_layers();
  split.tensor = 8;
  const KernelTerms one = expert_terms(round_sheet(), expert_layers(), 10'000);
  const KernelTerms eighth = expert_terms(round_sheet(), spread, 10'000);
  CHECK(eighth.flops.value() == Approx(one.flops.value() / 8));
  CHECK(eighth.bytes.value() == Approx(one.bytes.value() / 8));
  const KernelTerms narrow = expert_terms(round_sheet(), split, 10'000);
  CHECK(narrow.flops.value() == Approx(one.flops.value() / 8));
  // Rows pass whole on every GPU, only their inner width is split.
  CHECK(narrow.bytes.value() ==
        Approx(64 * matrices * 2 / 8 + 40'000 * (3.0 * 1024 + 5.0 * 512 / 8) * 2));
}

TEST_CASE("fp8 and mxfp4 experts read 1 and 17/32 bytes per weight", "[hwmodels]") {
  models::ExpertLayers narrow = expert_layers();
  const auto weights = [&](models::Precision precision) {
    narrow.precision = precision;
    return expert_terms(round_sheet(), narrow, 10'000).bytes.value() - 40'000 * per_row;
  };
  CHECK(weights(models::Precision::fp8) == Approx(64 * matrices));
  CHECK(weights(models::Precision::mxfp4) == Approx(64 * matrices * 17 / 32));
}

TEST_CASE("experts are priced by the fit of their precision and load", "[hwmodels]") {
  Gpu gpu = round_gpu(usual_fit());
  const double balanced = ExpertPricer(gpu, expert_layers(), "balanced")(100).time.value();
  const KernelTerms terms = expert_terms(gpu, expert_layers(), 100);
  CHECK(balanced == Approx(roofline(gpu, usual_fit(), terms).time.value()));
  KernelFit uneven = usual_fit();
  uneven.launch = Seconds(1.0);
  gpu.experts.emplace("bfloat16 power_law_1.2", uneven);
  CHECK(ExpertPricer(gpu, expert_layers(), "power_law_1.2")(100).time.value() > 1.0);
  CHECK(ExpertPricer(gpu, expert_layers(), "balanced")(100).time.value() == balanced);
}

TEST_CASE("another load than the one measured is off the grid", "[hwmodels]") {
  Gpu gpu = round_gpu(ideal_fit());
  gpu.experts.at("bfloat16 balanced") = with_grid(
      ideal_fit(),
      {"hidden_size", "intermediate_size", "experts_per_token", "experts", "tensor", "expert"},
      {{"tokens", {100}}}, {1024, 512, 4, 64, 1, 1}, 1.0);
  CHECK(ExpertPricer(gpu, expert_layers(), "balanced")(100).provenance == Provenance::measured);
  CHECK(ExpertPricer(gpu, expert_layers(), "power_law_1.2")(100).provenance == Provenance::fitted);
}

TEST_CASE("an expert load that was not measured takes another of the same precision",
          "[hwmodels]") {
  const auto launched = [](double seconds) {
    KernelFit fit;
    fit.launch = Seconds(seconds);
    return fit;
  };
  KernelFits fits;
  fits.emplace("usual", launched(3.0));
  fits.emplace("bfloat16 power_law_1.2", launched(1.0));
  fits.emplace("fp8 balanced", launched(2.0));
  CHECK(fit_of_load(fits, "bfloat16", "balanced").launch.value() == 1.0);
  CHECK(fit_of_load(fits, "fp8", "power_law_1.2").launch.value() == 2.0);
  CHECK(fit_of_load(fits, "fp8_block", "balanced").launch.value() == 3.0);
  CHECK(fit_of_load(fits, "mxfp4", "balanced").launch.value() == 3.0);
}
