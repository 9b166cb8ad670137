#include "calib/reference/speculative_sampling.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

using namespace tokenline::reference;

namespace {

SpeculativeSample sampled(const DraftedPair& pair, std::int64_t drafts, Resampling way,
                          std::uint64_t seed) {
  return speculative_sample(pair.target, pair.draft, drafts, 20'000, way, seed);
}

}  // namespace

TEST_CASE("what is kept follows the target, whatever the draft", "[speculative_sampling]") {
  // One of a thousand correct samplers has p below 0.001; of these nine with fixed seeds none has.
  for (const double alpha : {0.65, 0.8, 1.0})
    for (const std::int64_t drafts : {0, 1, 5}) {
      const DraftedPair pair = drafted_pair(8, alpha, 3);
      REQUIRE_FALSE(pair.draft.empty());
      const auto sample = sampled(pair, drafts, Resampling::residual, 17);
      INFO("acceptance " << alpha << ", drafts " << drafts);
      CHECK(chi_square(sample.counts, pair.target).p_value > 0.001);
    }
}

TEST_CASE("drawing rejected tokens from the target itself is found out", "[speculative_sampling]") {
  const DraftedPair pair = drafted_pair(8, 0.7, 3);
  const auto control = sampled(pair, 5, Resampling::target, 17);
  CHECK(chi_square(control.counts, pair.target).p_value < 1e-9);
  // And so are drafts taken as they come.
  const auto drafts =
      speculative_sample(pair.draft, pair.draft, 5, 20'000, Resampling::residual, 1);
  CHECK(chi_square(drafts.counts, pair.target).p_value < 1e-9);
}

TEST_CASE("drafts are accepted as often as the distributions overlap", "[speculative_sampling]") {
  const DraftedPair pair = drafted_pair(8, 0.8, 3);
  CHECK(acceptance(pair.target, pair.draft) == Approx(0.8).epsilon(1e-12));
  const auto sample = sampled(pair, 5, Resampling::residual, 17);
  const double share = static_cast<double>(sample.accepted) / static_cast<double>(sample.judged);
  // Three standard deviations.
  CHECK(share == Approx(0.8).margin(3 * std::sqrt(0.8 * 0.2 / static_cast<double>(sample.judged))));
}

TEST_CASE("a pass gives (1 - a^(K+1)) / (1 - a) tokens: 3.69 for five drafts at 0.8",
          "[speculative_sampling]") {
  CHECK(tokens_per_pass(0.8, 5) == Approx(3.69).epsilon(0.001));
  CHECK(tokens_per_pass(0.5, 0) == 1.0);
  CHECK(tokens_per_pass(1.0, 5) == 6.0);
  for (const std::int64_t drafts : {1, 3, 5}) {
    const auto sample = sampled(drafted_pair(8, 0.8, 3), drafts, Resampling::residual, 17);
    // Three standard deviations, where the 95 % interval has two.
    CHECK(sample.mean_tokens() ==
          Approx(tokens_per_pass(0.8, drafts)).margin(1.5 * sample.mean_tokens_half_width()));
  }
  const auto all = sampled(drafted_pair(8, 1.0, 3), 5, Resampling::residual, 17);
  CHECK(all.mean_tokens() == 6.0);
  CHECK(all.mean_tokens_half_width() == 0.0);
}

TEST_CASE("Pearson's statistic has the probability of its closed forms", "[speculative_sampling]") {
  const auto exact = chi_square({50, 50}, {0.5, 0.5});
  CHECK(exact.statistic == 0.0);
  CHECK(exact.p_value == 1.0);
  const auto uneven = chi_square({60, 40}, {0.5, 0.5});
  CHECK(uneven.statistic == Approx(4.0));
  CHECK(uneven.degrees == 1);
  CHECK(uneven.p_value == Approx(std::erfc(std::sqrt(2.0))));  // Of one degree: erfc(√(x / 2)).
  const auto three = chi_square({16, 34, 50}, {0.25, 0.25, 0.5});
  CHECK(three.statistic == Approx(81.0 / 25 + 81.0 / 25));
  CHECK(three.p_value == Approx(std::exp(-0.5 * three.statistic)));  // Of two: e^(−x/2).
}

TEST_CASE("a pair overlaps as asked, or says from where on it can", "[speculative_sampling]") {
  for (const std::int64_t vocabulary : {2, 3, 16}) {
    const DraftedPair pair = drafted_pair(vocabulary, 0.9, 5);
    CHECK(std::accumulate(pair.target.begin(), pair.target.end(), 0.0) == Approx(1.0));
    CHECK(std::accumulate(pair.draft.begin(), pair.draft.end(), 0.0) == Approx(1.0));
    CHECK(acceptance(pair.target, pair.draft) == Approx(0.9));
    CHECK(drafted_pair(vocabulary, 0.5 * pair.least_acceptance, 5).draft.empty());
  }
}
