#pragma once

#include "sim/base/quantity.hpp"
#include "sim/base/random.hpp"

namespace tokenline::traffic {

/// How long a client thinks between an answer and its next prompt.
struct ThinkTime {
  enum class Distribution {
    fixed,        ///< Always the mean.
    exponential,  ///< Without memory.
    lognormal,    ///< Of deviation `sigma` of the logarithm.
  };

  Distribution distribution = Distribution::fixed;
  Seconds mean{0.0};
  double sigma = 1.0;
};

/// Draws one; a fixed one takes no random number.
[[nodiscard]] Seconds draw(const ThinkTime& think_time, RandomStream& random);

}  // namespace tokenline::traffic
