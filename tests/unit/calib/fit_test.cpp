#include "calib/fit.hpp"

#include <catch2/catch.hpp>

using namespace tokenline;
using calib::fit_relative;

TEST_CASE("a model that fits exactly gives its constants back", "[calib]") {
  // t = 5 µs + a · 2 + b · 3 with a, b over decades.
  std::vector<double> a;
  std::vector<double> b;
  std::vector<double> measured;
  for (int i = 0; i < 10; ++i) {
    a.push_back(1e-6 * (1 << i));
    b.push_back(1e-6 * (1 << (9 - i)));
    measured.push_back(5e-6 + 2.0 * a.back() + 3.0 * b.back());
  }
  const auto x = fit_relative(measured, {1e-6, 1.0, 1.0},
                              [&](std::size_t i, std::span<const double>, std::span<double> out) {
                                out[0] = 1.0;
                                out[1] = a[i];
                                out[2] = b[i];
                              });
  CHECK(x[0] == Approx(5e-6));
  CHECK(x[1] == Approx(2.0));
  CHECK(x[2] == Approx(3.0));
}

TEST_CASE("the sides of a maximum are found", "[calib]") {
  // t = 1 µs + max(2a, 4b).
  std::vector<double> a;
  std::vector<double> b;
  std::vector<double> measured;
  for (int i = 0; i < 20; ++i) {
    a.push_back(1e-6 * (1 + i));
    b.push_back(1e-6 * (20 - i));
    measured.push_back(1e-6 + std::max(2.0 * a.back(), 4.0 * b.back()));
  }
  const auto x =
      fit_relative(measured, {2e-6, 1.0, 1.0},
                   [&](std::size_t i, std::span<const double> at, std::span<double> out) {
                     const bool first = a[i] * at[1] > b[i] * at[2];
                     out[0] = 1.0;
                     out[1] = first ? a[i] : 0.0;
                     out[2] = first ? 0.0 : b[i];
                   });
  CHECK(x[0] == Approx(1e-6).epsilon(1e-3));
  CHECK(x[1] == Approx(2.0).epsilon(1e-3));
  CHECK(x[2] == Approx(4.0).epsilon(1e-3));
}

TEST_CASE("constants are never negative", "[calib]") {
  // Times below a · 2 ask for a negative launch.
  const std::vector<double> a{1e-6, 2e-6, 4e-6};
  const std::vector<double> measured{1.5e-6, 3.8e-6, 8e-6};
  const auto x = fit_relative(measured, {1e-6, 1.0},
                              [&](std::size_t i, std::span<const double>, std::span<double> out) {
                                out[0] = 1.0;
                                out[1] = a[i];
                              });
  CHECK(x[0] >= 0.0);
  CHECK(x[1] > 0.0);
}

TEST_CASE("one wild row does not move a fit of least absolute deviations", "[calib]") {
  std::vector<double> a;
  std::vector<double> measured;
  for (int i = 1; i <= 21; ++i) {
    a.push_back(1e-6 * i);
    measured.push_back(2.0 * a.back());
  }
  measured[10] *= 50.0;
  const auto x = fit_relative(
      measured, {1.0},
      [&](std::size_t i, std::span<const double>, std::span<double> out) { out[0] = a[i]; });
  CHECK(x[0] == Approx(2.0).epsilon(0.01));
}

TEST_CASE("errors are relative to the measurement", "[calib]") {
  const std::vector<double> measured{1.0, 2.0, 4.0, 10.0, 1.0};
  const std::vector<double> predicted{1.1, 1.6, 4.0, 13.0, 1.0};
  const hw::FitError error = calib::relative_error(predicted, measured);
  CHECK(error.median == Approx(0.1));
  CHECK(error.p90 == Approx(0.3));
}
