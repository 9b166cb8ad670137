#include "workloads/traffic/lengths.hpp"

#include <algorithm>
#include <boost/random/lognormal_distribution.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace tokenline::traffic {
namespace {

double location(const LognormalLength& lengths) {
  return std::log(lengths.mean) - 0.5 * lengths.sigma * lengths.sigma;
}

/// Each with equal probability.
template <class T>
const T& any_of(const std::vector<T>& values, RandomStream& random) {
  return values[boost::random::uniform_int_distribution<std::size_t>(0, values.size() - 1)(random)];
}

struct Draw {
  RandomStream& random;

  std::int64_t operator()(const FixedLength& lengths) const { return lengths.value; }

  std::int64_t operator()(const UniformLength& lengths) const {
    return boost::random::uniform_int_distribution<std::int64_t>(lengths.min, lengths.max)(random);
  }

  std::int64_t operator()(const LognormalLength& lengths) const {
    boost::random::lognormal_distribution<double> distribution(location(lengths), lengths.sigma);
    for (;;) {
      const double rounded = std::floor(distribution(random) + 0.5);
      if (rounded >= static_cast<double>(lengths.min) &&
          rounded <= static_cast<double>(lengths.max))
        return static_cast<std::int64_t>(rounded);
    }
  }

  std::int64_t operator()(const EmpiricalLength& lengths) const {
    return any_of(*lengths.values, random);
  }
};

struct Longest {
  std::int64_t operator()(const FixedLength& lengths) const { return lengths.value; }
  std::int64_t operator()(const UniformLength& lengths) const { return lengths.max; }
  std::int64_t operator()(const LognormalLength& lengths) const { return lengths.max; }
  std::int64_t operator()(const EmpiricalLength& lengths) const {
    return *std::max_element(lengths.values->begin(), lengths.values->end());
  }
};

}  // namespace

double LognormalLength::probability_inside() const {
  const double mu = location(*this);
  const auto below = [&](double bound) {
    return 0.5 * std::erfc(-(std::log(bound) - mu) / (sigma * std::numbers::sqrt2));
  };
  return below(static_cast<double>(max) + 0.5) - below(static_cast<double>(min) - 0.5);
}

std::int64_t draw(const LengthDistribution& lengths, RandomStream& random) {
  return std::visit(Draw{random}, lengths);
}

TokenCounts draw(const RequestLengths& lengths, RandomStream& random) {
  if (const auto* joint = std::get_if<JointLengths>(&lengths)) return any_of(*joint->rows, random);
  const auto& apart = std::get<IndependentLengths>(lengths);
  TokenCounts drawn;
  drawn.prompt_tokens = draw(apart.prompt, random);
  drawn.output_tokens = draw(apart.output, random);
  return drawn;
}

std::int64_t longest(const LengthDistribution& lengths) { return std::visit(Longest{}, lengths); }

}  // namespace tokenline::traffic
