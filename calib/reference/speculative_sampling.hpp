#pragma once

#include <cstdint>
#include <vector>

namespace tokenline::reference {

/// Probabilities of the tokens of a vocabulary; they sum to 1.
using Distribution = std::vector<double>;

/// The probability that a draft from `draft` is accepted: Σ min(p, q), one less their distance in
/// total variation (Leviathan et al., arXiv 2211.17192, corollary 3.6).
[[nodiscard]] double acceptance(const Distribution& target, const Distribution& draft);

/// Tokens of a pass that verifies `drafts` of them, each accepted with `alpha`:
/// (1 − α^(K+1)) / (1 − α), and K + 1 for α = 1 (the same, equation 1).
[[nodiscard]] double tokens_per_pass(double alpha, std::int64_t drafts);

/// Where a rejected draft's token comes from.
enum class Resampling {
  residual,  ///< max(p − q, 0), normalised: what makes the output follow the target.
  target,    ///< The target itself: tokens that drafts prefer come too often. A control.
};

struct SpeculativeSample {
  std::vector<std::int64_t> counts;  ///< Of each token, over all that were kept.
  std::int64_t passes = 0;
  std::int64_t tokens = 0;    ///< Of these passes.
  double squares = 0.0;       ///< Σ over passes of the square of their tokens.
  std::int64_t judged = 0;    ///< Drafts up to and including the first rejected of each pass.
  std::int64_t accepted = 0;  ///< Of those.

  [[nodiscard]] double mean_tokens() const;
  /// Half the width of the 95 % confidence interval of that mean, by the normal approximation.
  [[nodiscard]] double mean_tokens_half_width() const;
};

/// Speculative sampling (Leviathan et al., algorithm 1; Chen et al., arXiv 2302.01318) with the
/// same two distributions at every position, until `tokens` are kept; those of the last pass beyond
/// are not counted among `counts`. A pass drafts `drafts` tokens, accepts each with probability
/// min(1, p / q) up to the first rejected, which is resampled; when all are accepted the target
/// gives one more. Contract: both distributions have one size, at least 1; `drafts` at least 0.
[[nodiscard]] SpeculativeSample speculative_sample(const Distribution& target,
                                                   const Distribution& draft, std::int64_t drafts,
                                                   std::int64_t tokens, Resampling resampling,
                                                   std::uint64_t seed);

/// Pearson's test of counts against a distribution.
struct ChiSquare {
  double statistic = 0.0;
  std::int64_t degrees = 0;
  /// The probability of a statistic at least as large if the counts follow the distribution.
  double p_value = 1.0;
};

/// Contract: at least two tokens, all of probability above 0.
[[nodiscard]] ChiSquare chi_square(const std::vector<std::int64_t>& counts,
                                   const Distribution& expected);

/// A target of random probabilities (exponential draws, normalised), and a draft that shifts some
/// of them to tokens the target holds for unlikely until acceptance() is `alpha`.
struct DraftedPair {
  Distribution target;
  Distribution draft;
  double least_acceptance = 0.0;  ///< No smaller `alpha` can be had: the draft is empty then.
};

/// Contract: `vocabulary` is at least 2, `alpha` in (0, 1].
[[nodiscard]] DraftedPair drafted_pair(std::int64_t vocabulary, double alpha, std::uint64_t seed);

}  // namespace tokenline::reference
