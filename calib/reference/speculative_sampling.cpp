#include "calib/reference/speculative_sampling.hpp"

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/random/exponential_distribution.hpp>
#include <boost/random/uniform_01.hpp>
#include <cmath>
#include <numeric>

#include "sim/base/check.hpp"
#include "sim/base/random.hpp"

namespace tokenline::reference {
namespace {

double real(std::int64_t count) { return static_cast<double>(count); }

/// Draws tokens by their cumulative probabilities.
class Sampler {
 public:
  explicit Sampler(const Distribution& distribution) : cumulative_(distribution.size()) {
    std::partial_sum(distribution.begin(), distribution.end(), cumulative_.begin());
  }
  std::size_t operator()(RandomStream& stream) const {
    const double at = boost::random::uniform_01<double>()(stream) * cumulative_.back();
    const auto found = std::ranges::upper_bound(cumulative_, at);
    return std::min(static_cast<std::size_t>(found - cumulative_.begin()), cumulative_.size() - 1);
  }

 private:
  std::vector<double> cumulative_;
};

Distribution residual(const Distribution& target, const Distribution& draft) {
  Distribution rest(target.size());
  for (std::size_t i = 0; i < target.size(); ++i) rest[i] = std::max(target[i] - draft[i], 0.0);
  return rest;
}

}  // namespace

double acceptance(const Distribution& target, const Distribution& draft) {
  double sum = 0.0;
  for (std::size_t i = 0; i < target.size(); ++i) sum += std::min(target[i], draft[i]);
  return sum;
}

double tokens_per_pass(double alpha, std::int64_t drafts) {
  if (alpha == 1.0) return real(drafts + 1);
  return (1.0 - std::pow(alpha, real(drafts + 1))) / (1.0 - alpha);
}

double SpeculativeSample::mean_tokens() const { return real(tokens) / real(passes); }

double SpeculativeSample::mean_tokens_half_width() const {
  constexpr double normal_97_5 = 1.959963984540054;
  const double mean = mean_tokens();
  const double variance = std::max(0.0, squares / real(passes) - mean * mean);
  return normal_97_5 * std::sqrt(variance / real(passes));
}

SpeculativeSample speculative_sample(const Distribution& target, const Distribution& draft,
                                     std::int64_t drafts, std::int64_t tokens,
                                     Resampling resampling, std::uint64_t seed) {
  TOKENLINE_CHECK(!target.empty() && target.size() == draft.size() && drafts >= 0,
                  "{} drafts among {} and {} tokens", drafts, target.size(), draft.size());
  RandomStream stream(seed, "speculative_sample", 0);
  const Sampler from_target(target);
  const Sampler from_draft(draft);
  const Sampler again(resampling == Resampling::residual ? residual(target, draft) : target);
  SpeculativeSample sample{.counts = std::vector<std::int64_t>(target.size())};
  std::int64_t kept = 0;
  while (kept < tokens) {
    std::int64_t of_pass = 0;
    const auto keep = [&](std::size_t token) {
      ++of_pass;
      if (kept++ < tokens) ++sample.counts[token];
    };
    bool rejected = false;
    for (std::int64_t i = 0; i < drafts && !rejected; ++i) {
      const std::size_t token = from_draft(stream);
      const double chance = boost::random::uniform_01<double>()(stream);
      ++sample.judged;
      rejected = chance * draft[token] >= target[token];
      if (!rejected) ++sample.accepted;
      keep(rejected ? again(stream) : token);
    }
    if (!rejected) keep(from_target(stream));
    ++sample.passes;
    sample.tokens += of_pass;
    sample.squares += real(of_pass * of_pass);
  }
  return sample;
}

ChiSquare chi_square(const std::vector<std::int64_t>& counts, const Distribution& expected) {
  TOKENLINE_CHECK(
      counts.size() == expected.size() && counts.size() >= 2 && std::ranges::min(expected) > 0.0,
      "{} counts against {} probabilities", counts.size(), expected.size());
  const double all = real(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  ChiSquare test{.degrees = static_cast<std::int64_t>(counts.size()) - 1};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double difference = real(counts[i]) - all * expected[i];
    test.statistic += difference * difference / (all * expected[i]);
  }
  test.p_value = boost::math::gamma_q(0.5 * real(test.degrees), 0.5 * test.statistic);
  return test;
}

DraftedPair drafted_pair(std::int64_t vocabulary, double alpha, std::uint64_t seed) {
  TOKENLINE_CHECK(vocabulary >= 2 && alpha > 0.0 && alpha <= 1.0, "{} tokens, acceptance {}",
                  vocabulary, alpha);
  RandomStream stream(seed, "drafted_pair", 0);
  DraftedPair pair;
  for (std::int64_t i = 0; i < vocabulary; ++i)
    pair.target.push_back(boost::random::exponential_distribution<double>()(stream));
  const double sum = std::accumulate(pair.target.begin(), pair.target.end(), 0.0);
  for (double& probability : pair.target) probability /= sum;

  // Half of the tokens, the unlikely ones, share the other distribution evenly.
  Distribution ordered = pair.target;
  std::ranges::sort(ordered);
  const std::size_t half = ordered.size() / 2;
  Distribution other;
  for (const double probability : pair.target)
    other.push_back(probability <= ordered[half - 1] ? 1.0 / real(static_cast<std::int64_t>(half))
                                                     : 0.0);
  pair.least_acceptance = acceptance(pair.target, other);
  const double shift = (1.0 - alpha) / (1.0 - pair.least_acceptance);
  if (shift > 1.0) return pair;
  for (std::size_t i = 0; i < other.size(); ++i)
    pair.draft.push_back(pair.target[i] + shift * (other[i] - pair.target[i]));
  return pair;
}

}  // namespace tokenline::reference
