#include "calib/fit_kernels.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "hwmodels/kernels/gemm.hpp"

using namespace tokenline;

namespace {

hw::Datasheet round_sheet() {
  hw::Datasheet sheet;
  sheet.sms = 100;
  sheet.peak_16bit = FlopsPerSecond(100e12);
  sheet.bandwidth = BytesPerSecond(1e12);
  return sheet;
}

/// Products that take exactly what a roofline of these constants says, times `factor`.
std::vector<calib::Sample> exact_products(const hw::KernelFit& truth, double factor) {
  const hw::Datasheet sheet = round_sheet();
  std::vector<calib::Sample> samples;
  for (const std::int64_t n : {512, 1024, 2048, 4096})
    for (const std::int64_t k : {512, 1024, 2048, 4096})
      for (const std::int64_t m : {1, 16, 256, 4096}) {
        calib::Sample sample = calib::gemm_sample(sheet, {m, n, k}, Seconds(1.0));
        sample.time = factor * hw::roofline(sheet, truth, sample.terms).time;
        samples.push_back(sample);
      }
  return samples;
}

}  // namespace

TEST_CASE("a fit finds the constants that made the samples", "[calib]") {
  hw::KernelFit truth;
  truth.launch = Seconds(3e-6);
  truth.compute_efficiency = 0.7;
  truth.memory_efficiency = 0.8;
  const hw::KernelFit fit = calib::fit_kernel(round_sheet(), exact_products(truth, 1.0));
  CHECK(fit.launch.value() == Approx(3e-6).epsilon(0.01));
  CHECK(fit.compute_efficiency == Approx(0.7).epsilon(0.01));
  CHECK(fit.memory_efficiency == Approx(0.8).epsilon(0.01));
  CHECK(fit.error.median < 0.01);
  REQUIRE(fit.grid != nullptr);
  CHECK(fit.grid->shapes() == 16);
}

TEST_CASE("efficiencies above the hardware's become one, and the grid says the rest", "[calib]") {
  hw::KernelFit truth;
  truth.launch = Seconds(1e-9);
  const auto samples = exact_products(truth, 0.5);  // Twice as fast as the datasheet allows.
  const hw::KernelFit fit = calib::fit_kernel(round_sheet(), samples);
  CHECK(fit.compute_efficiency == 1.0);
  CHECK(fit.memory_efficiency == 1.0);
  CHECK(fit.roofline_error.median == Approx(1.0).epsilon(0.05));
  CHECK(fit.error.median < 0.01);
}

TEST_CASE("measured points keep their time", "[calib]") {
  hw::KernelFit truth;
  truth.launch = Seconds(3e-6);
  auto samples = exact_products(truth, 1.0);
  for (std::size_t i = 0; i < samples.size(); ++i)
    samples[i].time = samples[i].time * (1.0 + 0.3 * std::sin(static_cast<double>(i)));
  const hw::Datasheet sheet = round_sheet();
  const hw::KernelFit fit = calib::fit_kernel(sheet, samples);
  for (const calib::Sample& sample : samples) {
    const auto slice = fit.grid->slice(sample.shape);
    const auto correction = slice.at(static_cast<double>(sample.point[0]));
    CHECK(correction.on_grid);
    // A shape's own weight is 100 at its pole, a neighbour's an octave away less than one.
    CHECK(hw::corrected(sheet, fit, sample.terms, correction).time.value() ==
          Approx(sample.time.value()).epsilon(0.03));
  }
}

TEST_CASE("streaming kernels also give the roofline of all of them", "[calib]") {
  hw::Gpu gpu;
  static_cast<hw::Datasheet&>(gpu) = round_sheet();
  std::vector<calib::Sample> samples;
  for (const char* kernel : {"norm", "rotary"})
    for (const double tokens : {1.0, 10.0, 100.0, 1000.0, 10000.0})
      samples.push_back(calib::elementwise_sample(kernel, Bytes(1e4), std::llround(tokens),
                                                  Seconds(2e-6 + tokens * 1e4 / 0.5e12)));
  calib::fit_all(gpu, samples);
  CHECK(gpu.elementwise.size() == 3);
  CHECK(gpu.elementwise.at("norm").grid != nullptr);
  const hw::KernelFit& other = gpu.elementwise.at("other");
  CHECK(other.grid == nullptr);
  CHECK(other.memory_efficiency == Approx(0.5).epsilon(0.01));
  CHECK(other.error.median == other.roofline_error.median);
}

TEST_CASE("a collective slower than a larger payload takes that one's time", "[calib]") {
  const auto sample = [](double payload, double time) {
    return calib::CollectiveSample{models::CollectiveOp::all_reduce,
                                   hw::CollectiveImplementation::nccl, 2, Bytes(payload),
                                   Seconds(time)};
  };
  const auto curves =
      calib::collective_curves({sample(4e3, 9e-6), sample(1e3, 5e-6), sample(2e3, 12e-6)});
  REQUIRE(curves.size() == 1);
  const auto& points = curves[0].points;
  REQUIRE(points.size() == 3);
  CHECK(points[0].time.value() == Approx(5e-6));
  CHECK(points[1].time.value() == Approx(9e-6));
  CHECK(points[2].time.value() == Approx(9e-6));
  // The middle point predicted from its neighbours, against what was measured there.
  CHECK(curves[0].error.median == Approx(std::abs(std::sqrt(5.0 * 9.0) - 12.0) / 12.0));
}
