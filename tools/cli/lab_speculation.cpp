#include <fmt/format.h>

#include "calib/reference/speculative_sampling.hpp"
#include "sim/base/integer.hpp"
#include "sim/config/numbers.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/text_table.hpp"
#include "tools/cli/lab.hpp"

namespace tokenline::cli {
namespace {

using reference::Resampling;
using reference::SpeculativeSample;
using report::figure_text;

double acceptance_of(const Arguments& arguments) {
  const std::string text = arguments.value("acceptance").value_or("0.8");
  const auto number = config::parse_real(text);
  if (!number.ok() || !(number.value > 0.0 && number.value <= 1.0))
    throw UsageError(fmt::format("--acceptance {}: expected a number above 0, up to 1", text));
  return number.value;
}

std::string judged(const SpeculativeSample& sample, const reference::DraftedPair& pair) {
  const auto test = reference::chi_square(sample.counts, pair.target);
  constexpr double hardly = 1e-12;
  return fmt::format("chi-square {} with {} degrees of freedom, p {}", figure_text(test.statistic),
                     test.degrees,
                     test.p_value < hardly ? "below 1e-12" : fmt::format("= {:.3g}", test.p_value));
}

}  // namespace

Usage speculation_lab_usage() {
  return {
      .synopsis = "lab speculation [options]",
      .about =
          "Samples tokens by speculative decoding from a target and a draft distribution that are\n"
          "the same at every position: drafts are accepted with min(1, target / draft) up to the\n"
          "first rejected, which is drawn again from max(target - draft, 0). Pearson's test holds\n"
          "the tokens against the target; a control draws rejected ones from the target itself.",
      .positional = "",
      .options =
          {{"acceptance", "SHARE",
            "Probability that a draft is accepted: the overlap of both distributions; 0.8 by "
            "default.",
            false},
           {"drafts", "N", "Of a pass; 5 by default.", false},
           {"vocabulary", "N", "Tokens; 8 by default.", false},
           {"tokens", "N", "To sample; 200000 by default.", false},
           seed_option()},
      .epilogue =
          "p is the probability of counts at least as far from the target if sampling is\n"
          "right: one seed in a thousand gives less than 0.001.\n" +
          std::string(exit_codes())};
}

Outcome speculation_lab(const Arguments& arguments) {
  const double alpha = acceptance_of(arguments);
  const std::int64_t drafts = arguments.integer("drafts", 5, 0, 1000);
  const std::int64_t vocabulary = arguments.integer("vocabulary", 8, 2, 16);
  const std::int64_t tokens = arguments.integer("tokens", 200'000, 1000, 100'000'000);
  const std::uint64_t seed = seed_of(arguments);
  const auto pair = reference::drafted_pair(vocabulary, alpha, seed);
  if (pair.draft.empty())
    throw UsageError(fmt::format("--acceptance {}: these distributions overlap by {:.3f} at least",
                                 alpha, pair.least_acceptance));
  const auto sampled = [&](Resampling way) {
    return reference::speculative_sample(pair.target, pair.draft, drafts, tokens, way, seed);
  };
  const SpeculativeSample sample = sampled(Resampling::residual);
  const SpeculativeSample control = sampled(Resampling::target);

  report::TextTable table(0);
  table.row({"token", "target", "draft", "kept", "control"});
  for (std::size_t i = 0; i < pair.target.size(); ++i)
    table.row({fmt::format("{}", i), fmt::format("{:.4f}", pair.target[i]),
               fmt::format("{:.4f}", pair.draft[i]),
               fmt::format("{:.4f}", real(sample.counts[i]) / real(tokens)),
               fmt::format("{:.4f}", real(control.counts[i]) / real(tokens))});
  const std::string accepted =
      sample.judged == 0 ? "-" : fmt::format("{:.4f}", real(sample.accepted) / real(sample.judged));
  return {
      success,
      fmt::format("{} tokens of a vocabulary of {}, {} drafts a pass; seed {}\n\n{}\n"
                  "kept     {}\ncontrol  {}\n\n"
                  "accepted                  {} of drafts judged; by hand, the overlap, {:.4f}\n"
                  "tokens of a pass          {:.4f} +- {:.4f} (95 %); by hand "
                  "(1 - a^(K+1)) / (1 - a) = {:.4f}\n",
                  tokens, vocabulary, drafts, seed, table.text(), judged(sample, pair),
                  judged(control, pair), accepted, alpha, sample.mean_tokens(),
                  sample.mean_tokens_half_width(), reference::tokens_per_pass(alpha, drafts))};
}

}  // namespace tokenline::cli
