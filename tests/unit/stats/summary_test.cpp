#include "sim/stats/summary.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "sim/base/check.hpp"

using tokenline::InternalError;
using tokenline::stats::percentile;
using tokenline::stats::summarize;

TEST_CASE("a summary of nothing is empty", "[stats]") {
  std::vector<double> none;
  const auto figures = summarize(none);
  REQUIRE_FALSE(figures.mean);
  REQUIRE_FALSE(figures.median);
  REQUIRE_FALSE(figures.std);
  REQUIRE_FALSE(figures.p90);
  REQUIRE_FALSE(figures.p95);
  REQUIRE_FALSE(figures.p99);
}

TEST_CASE("one sample is every figure, without deviation", "[stats]") {
  std::vector<double> one{42.5};
  const auto figures = summarize(one);
  for (const auto& figure : {figures.mean, figures.median, figures.p90, figures.p95, figures.p99})
    REQUIRE(figure == 42.5);
  REQUIRE(figures.std == 0.0);
}

TEST_CASE("the percentile of 0 … n−1 at q is q (n − 1), in any order of the samples", "[stats]") {
  const std::size_t n = 257;
  std::vector<double> samples;
  // 100 and 257 are coprime, so this visits each of 0 … 256 once, shuffled.
  for (std::size_t i = 0; i < n; ++i) samples.push_back(static_cast<double>(i * 100 % n));
  for (int i = 0; i <= 100; ++i) {
    const double q = i / 100.0;
    REQUIRE(percentile(samples, q) == Approx(q * (n - 1)).margin(1e-12));
  }
}

TEST_CASE("percentiles interpolate between neighbours", "[stats]") {
  std::vector<double> samples{40.0, 10.0, 30.0, 20.0};
  REQUIRE(percentile(samples, 0.0) == 10.0);
  REQUIRE(percentile(samples, 1.0) == 40.0);
  REQUIRE(percentile(samples, 0.5) == 25.0);
  // Rank 0.9 · 3 = 2.7: seven tenths of the way from 30 to 40.
  REQUIRE(percentile(samples, 0.9) == Approx(37.0));
}

TEST_CASE("mean and deviation of 0 … n−1 follow their closed forms", "[stats]") {
  const int n = 1000;
  std::vector<double> samples;
  for (int i = n - 1; i >= 0; --i) samples.push_back(i);
  const auto figures = summarize(samples);
  REQUIRE(*figures.mean == Approx((n - 1) / 2.0));
  REQUIRE(*figures.std == Approx(std::sqrt((1.0 * n * n - 1.0) / 12.0)));
  REQUIRE(*figures.p99 == Approx(0.99 * (n - 1)));
}

TEST_CASE("a percentile that cannot be answered is a bug of the caller", "[stats]") {
  std::vector<double> none;
  REQUIRE_THROWS_AS((void)percentile(none, 0.5), InternalError);
  std::vector<double> one{1.0};
  REQUIRE_THROWS_AS((void)percentile(one, 1.01), InternalError);
  REQUIRE_THROWS_AS((void)percentile(one, -0.01), InternalError);
  std::vector<double> undefined{1.0, std::numeric_limits<double>::quiet_NaN()};
  REQUIRE_THROWS_AS((void)summarize(undefined), InternalError);
}
