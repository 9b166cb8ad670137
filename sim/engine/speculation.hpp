#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hwmodels/replica_cost.hpp"
#include "sim/base/random.hpp"
#include "sim/base/time.hpp"
#include "sim/config/reader.hpp"
#include "workloads/traffic/source.hpp"

namespace tokenline {

/// Where draft tokens come from.
enum class DraftMethod {
  draft_model,  ///< A smaller model, run once per draft token.
  ngram,        ///< Repetitions found in the request's own tokens, by the host.
  mtp,          ///< A multi-token-prediction layer of the model itself, run once per draft token.
};

/// Stops drafting where too few tokens are accepted.
struct SpeculationBreaker {
  double below = 0.0;       ///< Acceptance under which it opens.
  std::int64_t window = 0;  ///< Draft tokens tested between two looks at it.
  Duration cooldown{};      ///< How long it stays open.
};

/// Speculative decoding as configured: a pass drafts `tokens` tokens for each sequence that
/// decodes, and verifies them with one more position in one forward pass (arXiv 2211.17192).
struct SpeculationConfig {
  DraftMethod method = DraftMethod::draft_model;
  std::int64_t tokens = 0;                    ///< num_speculative_tokens.
  std::optional<models::Architecture> draft;  ///< What a draft token is computed with.
  /// By class and position: how likely a draft token is accepted when all before it were.
  std::vector<std::vector<double>> acceptance;
  std::optional<SpeculationBreaker> breaker;
  /// On one GPU of the replica: what drafting adds to the weights.
  Bytes weights;
  /// Prices the draft model on the replica's GPUs; null where it runs on none.
  std::shared_ptr<const hw::StepCost> cost;
};

/// Reads the `speculation:` section, if there is one; without a model or classes (they were not
/// readable) what depends on them is not checked. `weights` and `cost` are price_draft()'s.
[[nodiscard]] std::optional<SpeculationConfig> read_speculation(
    config::Reader& root, const std::optional<models::Architecture>& model,
    std::span<const traffic::RequestClass> classes);

/// Why the draft cannot be priced beside the model of `target`, as a sentence; empty when it can,
/// and then `weights` and `cost` are set.
[[nodiscard]] std::string price_draft(SpeculationConfig& config, const hw::StepSetup& target);

/// What one replica's drafts come to.
class Speculator {
 public:
  /// What happened, for InstanceStats.
  struct Counts {
    std::int64_t passes = 0;    ///< Of a sequence.
    std::int64_t drafted = 0;   ///< Draft tokens,
    std::int64_t tested = 0;    ///< of which the verification got to so many
    std::int64_t accepted = 0;  ///< and accepted so many.
    std::int64_t trips = 0;     ///< Times that the breaker opened.
  };

  /// `config` must outlive it.
  Speculator(const SpeculationConfig& config, std::uint64_t seed);

  /// Draft tokens per sequence of a step that starts at `now`: none while the breaker is open.
  [[nodiscard]] std::int64_t drafts(TimePoint now) const {
    return now < closed_again_ ? 0 : config_.tokens;
  }
  /// How many of the draft tokens behind `generated` tokens of `request` are accepted. Depends on
  /// nothing else than those two and the seed.
  [[nodiscard]] std::int64_t verify(std::uint32_t request, std::uint32_t class_index,
                                    std::int64_t generated);
  /// The passes of a step have ended at `now`: the breaker looks at them.
  void step_ended(TimePoint now);
  /// GPU time of drafting for the step: a pass of the draft model per draft token and its prefill
  /// of the step's chunks. `drafts` as given by drafts().
  [[nodiscard]] hw::Price price(const hw::StepShape& shape, std::int64_t drafts) const;

  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  const SpeculationConfig& config_;
  std::uint64_t seed_;
  std::uint64_t purpose_;
  Counts counts_;
  std::int64_t window_tested_ = 0;
  std::int64_t window_accepted_ = 0;
  TimePoint closed_again_{};
};

}  // namespace tokenline
