#include "workloads/traffic/think_time.hpp"

#include <boost/random/exponential_distribution.hpp>
#include <boost/random/lognormal_distribution.hpp>
#include <cmath>

#include "sim/base/check.hpp"

namespace tokenline::traffic {

Seconds draw(const ThinkTime& think_time, RandomStream& random) {
  const double mean = think_time.mean.value();
  const double sigma = think_time.sigma;
  switch (think_time.distribution) {
    case ThinkTime::Distribution::fixed:
      return think_time.mean;
    case ThinkTime::Distribution::exponential:
      return Seconds(mean * boost::random::exponential_distribution<double>(1.0)(random));
    case ThinkTime::Distribution::lognormal:
      return Seconds(boost::random::lognormal_distribution<double>(
          std::log(mean) - 0.5 * sigma * sigma, sigma)(random));
  }
  fail_check(__FILE__, __LINE__, "distribution", "a think time without a distribution");
}

}  // namespace tokenline::traffic
