#include "sim/stats/histogram.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/base/random.hpp"

using tokenline::Duration;
using tokenline::InternalError;
using tokenline::RandomStream;
using tokenline::stats::Histogram;

namespace {

/// Durations over twelve orders of magnitude: 2^(0 … 40) ns.
std::vector<std::int64_t> log_uniform(std::size_t n) {
  RandomStream random(7, "histogram", 0);
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < n; ++i)
    values.push_back(static_cast<std::int64_t>(std::exp2(40.0 * random() / 4294967296.0)));
  return values;
}

double nanoseconds(std::optional<tokenline::Seconds> value) { return value.value().value() * 1e9; }

}  // namespace

TEST_CASE("an empty histogram has no figures, not zeros", "[stats]") {
  const Histogram empty;
  REQUIRE(empty.count() == 0);
  REQUIRE_FALSE(empty.mean());
  REQUIRE_FALSE(empty.standard_deviation());
  REQUIRE_FALSE(empty.quantile(0.5));
  REQUIRE_FALSE(empty.max());
}

TEST_CASE("a quantile is the order statistic of rank ceil(q n), within half a bucket", "[stats]") {
  auto values = log_uniform(20'000);
  Histogram histogram;
  for (const auto v : values) histogram.add(Duration(v));
  std::ranges::sort(values);
  for (int i = 0; i <= 1000; ++i) {
    const double q = i / 1000.0;
    const auto rank = std::max(1.0, std::ceil(q * static_cast<double>(values.size())));
    const auto exact = static_cast<double>(values[static_cast<std::size_t>(rank) - 1]);
    REQUIRE(nanoseconds(histogram.quantile(q)) == Approx(exact).epsilon(1.0 / 256.0));
  }
}

TEST_CASE("values below 256 ns keep their own bucket", "[stats]") {
  for (int v = 0; v < 256; ++v) {
    Histogram one;
    one.add(Duration(v));
    REQUIRE(nanoseconds(one.quantile(0.5)) == Approx(v));
  }
}

TEST_CASE("every power of two and its neighbours fall within half a bucket", "[stats]") {
  for (int exponent = 1; exponent < 63; ++exponent)
    for (const std::int64_t step : {-1, 0, 1}) {
      const std::int64_t value = (std::int64_t{1} << exponent) + step;
      Histogram one;
      one.add(Duration(value));
      REQUIRE(nanoseconds(one.quantile(1.0)) ==
              Approx(static_cast<double>(value)).epsilon(1.0 / 256.0));
      REQUIRE(one.max() == Duration(value));
    }
}

TEST_CASE("a quantile never passes the maximum", "[stats]") {
  Histogram histogram;
  histogram.add(Duration(1 << 20));
  REQUIRE(nanoseconds(histogram.quantile(1.0)) == Approx(1 << 20).epsilon(1e-12));
}

TEST_CASE("a weight of n is n insertions", "[stats]") {
  Histogram weighted;
  Histogram repeated;
  for (const auto v : log_uniform(100)) {
    const std::int64_t weight = v % 7;
    weighted.add(Duration(v), weight);
    for (std::int64_t i = 0; i < weight; ++i) repeated.add(Duration(v));
  }
  REQUIRE(weighted.count() == repeated.count());
  REQUIRE(weighted.mean() == repeated.mean());
  REQUIRE(weighted.standard_deviation() == repeated.standard_deviation());
  for (const double q : {0.0, 0.1, 0.5, 0.9, 0.99, 1.0})
    REQUIRE(weighted.quantile(q) == repeated.quantile(q));
}

TEST_CASE("merging in any order gives the bits of one histogram", "[stats]") {
  Histogram whole;
  std::vector<Histogram> parts(3);
  std::size_t i = 0;
  for (const auto v : log_uniform(3000)) {
    whole.add(Duration(v), v % 5);
    parts[i++ % parts.size()].add(Duration(v), v % 5);
  }
  Histogram forward;
  for (const auto& part : parts) forward.merge(part);
  Histogram backward;
  for (const std::size_t part : {2U, 1U, 0U}) backward.merge(parts[part]);
  for (const auto* merged : {&forward, &backward}) {
    REQUIRE(merged->count() == whole.count());
    REQUIRE(merged->mean() == whole.mean());
    REQUIRE(merged->standard_deviation() == whole.standard_deviation());
    REQUIRE(merged->max() == whole.max());
    for (const double q : {0.01, 0.5, 0.99}) REQUIRE(merged->quantile(q) == whole.quantile(q));
  }
}

TEST_CASE("the deviation of a tight cluster far from zero does not cancel", "[stats]") {
  // 10^9 samples each at 1 h and 1 h + 2 ns: mean 1 h + 1 ns, deviation exactly 1 ns.
  const std::int64_t hour = 3'600'000'000'000;
  Histogram histogram;
  histogram.add(Duration(hour), 1'000'000'000);
  histogram.add(Duration(hour + 2), 1'000'000'000);
  REQUIRE(nanoseconds(histogram.standard_deviation()) == Approx(1.0).epsilon(1e-12));
  REQUIRE(nanoseconds(histogram.mean()) == Approx(static_cast<double>(hour + 1)).epsilon(1e-15));
}

TEST_CASE("mean and deviation of 0 … n−1 are (n−1)/2 and sqrt((n²−1)/12)", "[stats]") {
  const int n = 1001;
  Histogram histogram;
  for (int i = 0; i < n; ++i) histogram.add(Duration(i));
  REQUIRE(nanoseconds(histogram.mean()) == Approx((n - 1) / 2.0).epsilon(1e-14));
  REQUIRE(nanoseconds(histogram.standard_deviation()) ==
          Approx(std::sqrt((n * n - 1) / 12.0)).epsilon(1e-14));
}

TEST_CASE("negative values, negative weights and overflow are bugs of the caller", "[stats]") {
  Histogram histogram;
  REQUIRE_THROWS_AS(histogram.add(Duration(-1)), InternalError);
  REQUIRE_THROWS_AS(histogram.add(Duration(1), -1), InternalError);
  REQUIRE_THROWS_AS((void)histogram.quantile(1.5), InternalError);
  REQUIRE_THROWS_AS((void)histogram.quantile(std::nan("")), InternalError);
  const auto longest = Duration(std::numeric_limits<std::int64_t>::max());
  histogram.add(longest);
  REQUIRE_THROWS_AS(histogram.add(longest, 2), InternalError);
}
