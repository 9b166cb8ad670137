#include "workloads/traffic/renewal.hpp"

#include <boost/random/exponential_distribution.hpp>
#include <boost/random/gamma_distribution.hpp>

#include "sim/base/check.hpp"

namespace tokenline::traffic {

double Renewal::next() {
  sum_ += gap();
  return sum_;
}

double Renewal::gap() {
  switch (process_) {
    case Process::poisson:
      return boost::random::exponential_distribution<double>(1.0)(random_);
    case Process::gamma:
      return boost::random::gamma_distribution<double>(burstiness_, 1.0 / burstiness_)(random_);
    case Process::constant:
      return 1.0;
  }
  fail_check(__FILE__, __LINE__, "process", "an arrival process without gaps");
}

}  // namespace tokenline::traffic
