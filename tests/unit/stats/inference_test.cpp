#include "sim/stats/inference.hpp"

#include <boost/random/exponential_distribution.hpp>
#include <boost/random/normal_distribution.hpp>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "sim/base/random.hpp"

using namespace tokenline;
using namespace tokenline::stats;

namespace {

/// How often the interval of the mean of n draws holds the true mean, of 1,000 data sets.
template <class Distribution>
double coverage(Distribution distribution, double mean, std::size_t n, double confidence) {
  int held = 0;
  for (std::uint64_t set = 0; set < 1000; ++set) {
    RandomStream stream(7, "coverage", set);
    std::vector<double> samples(n);
    for (double& sample : samples) sample = distribution(stream);
    const Interval interval = bootstrap_mean(samples, confidence, set);
    held += interval.low <= mean && mean <= interval.high;
  }
  return held / 1000.0;
}

}  // namespace

TEST_CASE("intervals of the mean hold it as often as they say", "[inference]") {
  // Three standard errors of a share of 1,000: 0.02 at 95 %, 0.03 at 90 %.
  using Normal = boost::random::normal_distribution<double>;
  CHECK(coverage(Normal(3.0, 2.0), 3.0, 10, 0.95) == Approx(0.95).margin(0.02));
  CHECK(coverage(Normal(3.0, 2.0), 3.0, 20, 0.9) == Approx(0.9).margin(0.03));
  CHECK(coverage(boost::random::exponential_distribution<double>(0.5), 2.0, 20, 0.95) ==
        Approx(0.95).margin(0.025));
}

TEST_CASE("five samples have an interval at least as wide as they deserve", "[inference]") {
  using Normal = boost::random::normal_distribution<double>;
  CHECK(coverage(Normal(0.0, 1.0), 0.0, 5, 0.95) >= 0.94);
}

TEST_CASE("samples that are all equal have an interval without width", "[inference]") {
  const Interval interval = bootstrap_mean(std::vector(4, 0.1), 0.95, 1);
  CHECK(interval.low == 0.1);
  CHECK(interval.estimate == 0.1);
  CHECK(interval.high == 0.1);
}

TEST_CASE("an interval shrinks with the root of the number of samples", "[inference]") {
  boost::random::normal_distribution<double> normal(0.0, 1.0);
  RandomStream stream(1, "widths", 0);
  std::vector<double> samples(400);
  for (double& sample : samples) sample = normal(stream);
  const double few = bootstrap_mean(std::span(samples).first(100), 0.95, 1).half_width();
  CHECK(few / bootstrap_mean(samples, 0.95, 1).half_width() == Approx(2.0).epsilon(0.15));
}

TEST_CASE("MSER-5 cuts a start from empty, and nothing of what is steady", "[inference]") {
  boost::random::normal_distribution<double> normal(0.0, 1.0);
  RandomStream stream(1, "series", 0);
  std::vector<double> steady(2000);
  for (double& value : steady) value = 10.0 + normal(stream);
  REQUIRE(mser5(steady));
  CHECK(*mser5(steady) <= 100);
  std::vector<double> started = steady;
  // Rises to its level with a time constant of 60 observations: e^-5 of it is left after 300.
  for (std::size_t i = 0; i < started.size(); ++i)
    started[i] -= 10.0 * std::exp(-static_cast<double>(i) / 60.0);
  REQUIRE(mser5(started));
  CHECK(*mser5(started) >= 120);
  CHECK(*mser5(started) <= 400);
  std::vector<double> step(1000, 5.0);
  for (std::size_t i = 0; i < 100; ++i) step[i] = 0.0;
  CHECK(mser5(step) == 100);
}

TEST_CASE("MSER-5 finds no steady state in what grows without end", "[inference]") {
  std::vector<double> ramp(1000);
  for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<double>(i);
  CHECK_FALSE(mser5(ramp));
  CHECK_FALSE(mser5(std::vector(49, 1.0)));
}
