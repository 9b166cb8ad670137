#pragma once

#include <cstdint>
#include <span>

namespace tokenline::reference {

/// Steps of a batch of fixed size until every output is complete, a token per running request and
/// step; all requests wait from the start, prompts cost nothing. Each step reads the weights once.
struct BatchingResult {
  std::int64_t steps = 0;
  std::int64_t tokens = 0;
  std::int64_t slots = 0;  ///< Of the batch.

  /// Per reading of the weights.
  [[nodiscard]] double tokens_per_step() const {
    return static_cast<double>(tokens) / static_cast<double>(steps);
  }
  /// Share of slots and steps that produce a token.
  [[nodiscard]] double utilization() const {
    return tokens_per_step() / static_cast<double>(slots);
  }
};

/// A batch runs until its longest output is complete: Σ over groups of `slots` of their maximum.
/// Contract: outputs and slots are at least 1, and there is an output.
[[nodiscard]] BatchingResult static_batching(std::span<const std::int64_t> outputs,
                                             std::int64_t slots);

/// A slot that becomes free takes the next request in the next step (Orca, Yu et al., OSDI'22).
/// The same contract.
[[nodiscard]] BatchingResult continuous_batching(std::span<const std::int64_t> outputs,
                                                 std::int64_t slots);

/// No order of work takes fewer steps: max(⌈Σ outputs / slots⌉, longest output).
[[nodiscard]] std::int64_t fewest_steps(std::span<const std::int64_t> outputs, std::int64_t slots);

}  // namespace tokenline::reference
