#include "workloads/traffic/renewal.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

using tokenline::RandomStream;
using tokenline::traffic::Process;
using tokenline::traffic::Renewal;

namespace {

struct Moments {
  double mean = 0.0;
  double variance = 0.0;
};

Moments gaps(Process process, double burstiness, int n) {
  Renewal renewal(process, burstiness, RandomStream(42, "gaps", 0));
  double last = 0.0;
  double sum = 0.0;
  double squares = 0.0;
  for (int i = 0; i < n; ++i) {
    const double now = renewal.next();
    const double gap = now - last;
    last = now;
    sum += gap;
    squares += gap * gap;
  }
  const double mean = sum / n;
  return {mean, squares / n - mean * mean};
}

/// Five standard errors of the mean and of the variance of gamma gaps with shape k and mean 1: the
/// fourth central moment is 3/k² + 6/k³.
void require_gamma(const Moments& moments, double k, int n) {
  REQUIRE(std::abs(moments.mean - 1.0) < 5.0 * std::sqrt(1.0 / k / n));
  const double fourth = 3.0 / (k * k) + 6.0 / (k * k * k);
  REQUIRE(std::abs(moments.variance - 1.0 / k) < 5.0 * std::sqrt((fourth - 1.0 / (k * k)) / n));
}

}  // namespace

TEST_CASE("constant gaps are exactly one", "[traffic]") {
  Renewal renewal(Process::constant, 1.0, RandomStream(1, "gaps", 0));
  for (int i = 1; i < 1000; ++i) REQUIRE(renewal.next() == i);
}

TEST_CASE("poisson gaps have mean 1 and variance 1", "[traffic]") {
  const int n = 400'000;
  require_gamma(gaps(Process::poisson, 1.0, n), 1.0, n);
}

TEST_CASE("gamma gaps of shape k have mean 1 and variance 1/k", "[traffic]") {
  const int n = 400'000;
  for (const double k : {0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 50.0})
    require_gamma(gaps(Process::gamma, k, n), k, n);
}

TEST_CASE("poisson gaps are exponential: P(gap > x) = exp(-x)", "[traffic]") {
  const int n = 200'000;
  Renewal renewal(Process::poisson, 1.0, RandomStream(9, "tail", 0));
  std::vector<int> above(7);
  double last = 0.0;
  for (int i = 0; i < n; ++i) {
    const double now = renewal.next();
    for (std::size_t x = 0; x < above.size(); ++x)
      if (now - last > static_cast<double>(x)) ++above[x];
    last = now;
  }
  for (std::size_t x = 0; x < above.size(); ++x) {
    const double p = std::exp(-static_cast<double>(x));
    REQUIRE(std::abs(above[x] / static_cast<double>(n) - p) <= 5.0 * std::sqrt(p * (1.0 - p) / n));
  }
}
