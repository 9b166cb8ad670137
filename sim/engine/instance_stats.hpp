#pragma once

#include <array>
#include <cstdint>

#include "hwmodels/step_cost.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/time.hpp"
#include "sim/engine/kv_tiers.hpp"

namespace tokenline {

/// Counters of an instance up to a step boundary. Differences of two snapshots describe the time
/// between them; peaks are over the whole run.
struct InstanceStats {
  TimePoint as_of{};
  std::int64_t steps = 0;
  Duration busy{};             ///< With steps under way, host gaps included.
  Duration gpu{};              ///< The GPU's part of the steps: the mean of the stages.
  Duration down{};             ///< Restarting.
  Flops flops;                 ///< Of one GPU of the replica: the mean of the stages.
  Bytes hbm_bytes;             ///< Of one GPU of the replica: the mean of the stages.
  Seconds price_error;         ///< Of `gpu`, by the median errors of the calibration.
  hw::OperatorTimes off_grid;  ///< GPU time priced outside measured grids.
  std::int64_t preemptions = 0;
  std::int64_t restarts = 0;           ///< Crashes,
  std::int64_t failures = 0;           ///< of which so many by faults of the scenario.
  std::int64_t prefilled_tokens = 0;   ///< Prompt tokens computed, repeats included.
  std::int64_t recomputed_tokens = 0;  ///< KV entries lost in preemptions: not found again.
  std::int64_t decoded_tokens = 0;     ///< KV entries written by decode steps.
  /// Where requests may begin alike: prompt tokens looked up when a request runs for the first
  /// time, and those of them that were there (and what a preempted one found beyond what it gave
  /// up).
  std::int64_t queried_tokens = 0;
  std::int64_t hit_tokens = 0;
  std::int64_t spared_tokens = 0;  ///< Of those, of prompts computed elsewhere: not transferred.
  /// The same of the tiers of kv_offload, asked for what was not there.
  std::int64_t external_queried_tokens = 0;
  std::int64_t external_hit_tokens = 0;
  std::int64_t loaded_tokens = 0;     ///< Of requests that then ran, preempted ones too.
  std::int64_t lost_load_tokens = 0;  ///< Loaded for requests that a crash lost before they ran.
  std::int64_t lost_kv_tokens = 0;    ///< KV entries lost in crashes, or of requests given up.
  std::int64_t emitted_tokens = 0;    ///< Output tokens produced, of lost attempts too.
  std::int64_t discarded_tokens = 0;  ///< Output tokens of attempts lost in a crash or given up.
  std::int64_t abandoned = 0;         ///< Requests that their clients gave up here,
  std::int64_t aborts = 0;            ///< of which so many were let go before their end.
  std::int64_t passes = 0;            ///< Passes that verified drafts, by sequence,
  std::int64_t pass_tokens = 0;       ///< tokens that they emitted,
  std::int64_t drafted_tokens = 0;    ///< draft tokens,
  std::int64_t tested_tokens = 0;     ///< of which the verification got to so many
  std::int64_t accepted_tokens = 0;   ///< and accepted so many.
  std::int64_t breaker_trips = 0;     ///< Times that the breaker of speculation opened.
  /// With preemption_mode: swap, blocks of a replica: copied to host memory, back, and lost there
  /// with their requests.
  std::int64_t swapped_out_blocks = 0;
  std::int64_t swapped_in_blocks = 0;
  std::int64_t swap_dropped_blocks = 0;
  std::int64_t swap_space_lacking = 0;  ///< Preemptions that found no room there.
  Duration swapping{};                  ///< Of `busy`: copying.
  std::array<TierCounts, most_tiers> tiers{};
  double running_seconds = 0.0;       ///< ∫ running sequences dt.
  double waiting_seconds = 0.0;       ///< ∫ waiting requests dt at step boundaries.
  double kv_allocated_seconds = 0.0;  ///< ∫ tokens that the allocated blocks could hold dt.
  double kv_stored_seconds = 0.0;     ///< ∫ tokens that they hold dt.
  // Peaks.
  std::int64_t peak_running = 0;
  std::int64_t peak_waiting = 0;
  std::int64_t kv_peak_blocks = 0;
  std::int64_t swap_peak_blocks = 0;
  Bytes hbm_peak;        ///< Of the steps that ran.
  Bytes hbm_peak_asked;  ///< Also of the steps that did not fit.

  /// What happened since `earlier`; peaks stay.
  [[nodiscard]] InstanceStats since(const InstanceStats& earlier) const;
};

}  // namespace tokenline
