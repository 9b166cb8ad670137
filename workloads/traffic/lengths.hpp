#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "sim/base/random.hpp"

namespace tokenline::traffic {

/// Always `value`.
struct FixedLength {
  std::int64_t value = 1;
};

/// Every integer of [min, max] with equal probability.
struct UniformLength {
  std::int64_t min = 1;
  std::int64_t max = 1;
};

/// A lognormal rounded to the nearest integer, given that the integer lies in [min, max]: what
/// falls outside is drawn again, so no probability piles up at the ends. The mean of what is drawn
/// therefore differs from `mean`, which is that of the whole lognormal.
struct LognormalLength {
  double mean = 1.0;   ///< Tokens; exp(μ + σ²/2), so μ = ln(mean) − σ²/2.
  double sigma = 1.0;  ///< Standard deviation of the logarithm.
  std::int64_t min = 1;
  std::int64_t max = 1;

  /// The probability that a draw falls inside: Φ((ln(max + ½) − μ)/σ) − Φ((ln(min − ½) − μ)/σ).
  [[nodiscard]] double probability_inside() const;
};

/// One of the measured lengths, each row with equal probability.
struct EmpiricalLength {
  std::shared_ptr<const std::vector<std::int64_t>> values;  ///< Not empty.
};

/// A distribution of token counts, all at least 1.
using LengthDistribution =
    std::variant<FixedLength, UniformLength, LognormalLength, EmpiricalLength>;

/// Draws one length. A lognormal that rarely falls inside takes 1/probability_inside() tries.
[[nodiscard]] std::int64_t draw(const LengthDistribution& lengths, RandomStream& random);

/// The largest length that can be drawn.
[[nodiscard]] std::int64_t longest(const LengthDistribution& lengths);

/// The lengths of one request.
struct TokenCounts {
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;
};

/// Prompt and output drawn apart, the prompt first.
struct IndependentLengths {
  LengthDistribution prompt;
  LengthDistribution output;
};

/// Prompt and output of one measured request, each with equal probability, so that what goes
/// together in the measurement stays together: its correlation is kept.
struct JointLengths {
  std::shared_ptr<const std::vector<TokenCounts>> rows;  ///< Not empty.
};

/// How long the requests of a class are.
using RequestLengths = std::variant<IndependentLengths, JointLengths>;

[[nodiscard]] TokenCounts draw(const RequestLengths& lengths, RandomStream& random);

}  // namespace tokenline::traffic
