#pragma once

#include "sim/base/random.hpp"

namespace tokenline::traffic {

/// How arrivals scatter around their rate.
enum class Process {
  poisson,   ///< Exponential gaps: independent users.
  gamma,     ///< Gamma gaps of shape `burstiness`, coefficient of variation 1/√burstiness.
  constant,  ///< Equal gaps.
};

/// Independent gaps of mean 1 between events of a renewal process; a RateProfile turns their sums
/// into times. The first event comes one gap after the origin.
class Renewal {
 public:
  /// `burstiness` is gamma's shape k > 0, as in `vllm bench serve --burstiness`: 1 is Poisson,
  /// below 1 bursty, above 1 regular. The other processes ignore it.
  Renewal(Process process, double burstiness, RandomStream random)
      : process_(process), burstiness_(burstiness), random_(random) {}

  /// The sum of the gaps so far, one more added.
  [[nodiscard]] double next();

 private:
  [[nodiscard]] double gap();

  Process process_;
  double burstiness_;
  RandomStream random_;
  double sum_ = 0.0;
};

}  // namespace tokenline::traffic
