#include "workloads/traffic/lengths.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <memory>
#include <numbers>
#include <utility>
#include <vector>

using namespace tokenline::traffic;
using tokenline::RandomStream;

namespace {

std::vector<std::int64_t> draws(const LengthDistribution& lengths, std::size_t n) {
  RandomStream random(42, "lengths", 0);
  std::vector<std::int64_t> values(n);
  for (auto& value : values) value = draw(lengths, random);
  return values;
}

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

/// P(the integer is n | it lies inside), from the lognormal's distribution function.
std::vector<double> probabilities(const LognormalLength& l) {
  const double mu = std::log(l.mean) - l.sigma * l.sigma / 2;
  const auto cdf = [&](double x) { return normal_cdf((std::log(x) - mu) / l.sigma); };
  const double inside =
      cdf(static_cast<double>(l.max) + 0.5) - cdf(static_cast<double>(l.min) - 0.5);
  std::vector<double> p;
  for (std::int64_t n = l.min; n <= l.max; ++n) {
    const auto middle = static_cast<double>(n);
    p.push_back((cdf(middle + 0.5) - cdf(middle - 0.5)) / inside);
  }
  return p;
}

/// A sample's mean must lie within five standard errors of the distribution's.
void require_mean(const std::vector<std::int64_t>& values, double mean, double variance) {
  double sum = 0.0;
  for (const auto v : values) sum += static_cast<double>(v);
  const auto n = static_cast<double>(values.size());
  REQUIRE(std::abs(sum / n - mean) < 5.0 * std::sqrt(variance / n));
}

}  // namespace

TEST_CASE("a fixed length is always itself", "[traffic]") {
  for (const auto v : draws(FixedLength{200}, 100)) REQUIRE(v == 200);
  REQUIRE(longest(FixedLength{200}) == 200);
}

TEST_CASE("uniform lengths reach both ends and have mean (a+b)/2, variance ((b−a+1)²−1)/12",
          "[traffic]") {
  const auto values = draws(UniformLength{3, 12}, 100'000);
  std::map<std::int64_t, int> counts;
  for (const auto v : values) ++counts[v];
  REQUIRE(counts.size() == 10);
  for (const auto& [value, count] : counts) {
    REQUIRE(value >= 3);
    REQUIRE(value <= 12);
    REQUIRE(std::abs(count - 10'000) < 5.0 * std::sqrt(100'000 * 0.1 * 0.9));
  }
  require_mean(values, 7.5, 99.0 / 12.0);
  REQUIRE(longest(UniformLength{3, 12}) == 12);
}

TEST_CASE("an untruncated lognormal has the stated mean and log-deviation", "[traffic]") {
  const LognormalLength l{2000.0, 0.7, 1, 1'000'000'000};
  REQUIRE(l.probability_inside() == Approx(1.0));
  const auto values = draws(l, 200'000);
  // Var = mean² (exp(σ²) − 1); rounding to integers adds 1/12 at most.
  require_mean(values, l.mean, l.mean * l.mean * std::expm1(l.sigma * l.sigma) + 1.0 / 12.0);
  double sum = 0.0;
  double squares = 0.0;
  for (const auto v : values) {
    sum += std::log(static_cast<double>(v));
    squares += std::pow(std::log(static_cast<double>(v)), 2);
  }
  const auto n = static_cast<double>(values.size());
  const double deviation = std::sqrt(squares / n - std::pow(sum / n, 2));
  REQUIRE(std::abs(deviation - l.sigma) < 5.0 * l.sigma / std::sqrt(2.0 * n) + 1e-4);
}

TEST_CASE("a truncated lognormal is the conditional distribution, without mass at the ends",
          "[traffic]") {
  const LognormalLength l{12.0, 0.9, 4, 24};
  const auto p = probabilities(l);
  const std::size_t n = 200'000;
  std::vector<double> counts(p.size());
  for (const auto v : draws(l, n)) {
    REQUIRE(v >= l.min);
    REQUIRE(v <= l.max);
    counts[static_cast<std::size_t>(v - l.min)] += 1.0;
  }
  double chi_square = 0.0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double expected = p[i] * static_cast<double>(n);
    chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  // 20 degrees of freedom: mean 20, deviation √40; five of them is far beyond the 0.1 % point.
  REQUIRE(chi_square < 20.0 + 5.0 * std::sqrt(40.0));
  REQUIRE(longest(l) == 24);
}

TEST_CASE("the share inside is counted by drawing", "[traffic]") {
  const LognormalLength whole{100.0, 1.0, 1, 1'000'000'000};
  const LognormalLength part{100.0, 1.0, 200, 400};
  const std::size_t n = 100'000;
  double inside = 0.0;
  for (const auto v : draws(whole, n)) inside += v >= part.min && v <= part.max ? 1.0 : 0.0;
  const double p = part.probability_inside() / whole.probability_inside();
  REQUIRE(std::abs(inside / static_cast<double>(n) - p) <
          5.0 * std::sqrt(p * (1.0 - p) / static_cast<double>(n)));
}

TEST_CASE("empirical lengths are drawn with equal probability per row", "[traffic]") {
  const auto rows =
      std::make_shared<const std::vector<std::int64_t>>(std::vector<std::int64_t>{7, 7, 100, 31});
  std::map<std::int64_t, int> counts;
  const int n = 40'000;
  for (const auto v : draws(EmpiricalLength{rows}, n)) ++counts[v];
  REQUIRE(counts.size() == 3);
  for (const auto& [value, p] : {std::pair{7, 0.5}, {100, 0.25}, {31, 0.25}})
    REQUIRE(std::abs(counts[value] - p * n) < 5.0 * std::sqrt(n * p * (1 - p)));
  REQUIRE(longest(EmpiricalLength{rows}) == 100);
}
