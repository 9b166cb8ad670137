#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/request.hpp"
#include "sim/engine/scenario.hpp"

namespace tokenline::test {

/// What happened in a slow run, to know what a sample of scenarios covers.
struct SlowCounts {
  std::int64_t steps = 0;
  std::int64_t preemptions = 0;
  std::int64_t found_again = 0;    ///< Admissions that found blocks of theirs still free,
  std::int64_t found_in_part = 0;  ///< and not all of them.
  std::int64_t given_again = 0;    ///< Requests that found something in an attempt after the first.
  std::int64_t given = 0;          ///< Admissions for the first time that found what others stored,
  std::int64_t shared = 0;         ///< and of those, ones that found blocks in use.
  std::int64_t swapped_in = 0;     ///< Sequences that came back from host memory.
  std::int64_t no_swap_space = 0;  ///< Preemptions that found no room there.
  std::int64_t loaded = 0;         ///< Admissions with KV from tiers behind the pool,
  std::int64_t loaded_again = 0;   ///< of those, after a preemption.
  std::int64_t queued_loads = 0;   ///< Loads that waited for others, or for what is under way.
  std::int64_t lost_loads = 0;     ///< Requests that a crash lost while they loaded.
  std::int64_t lost_swapped = 0;   ///< Swapped sequences lost in crashes, or given up.
  std::int64_t crashes = 0;
  std::int64_t held_rows = 0;       ///< Finished rows in decode steps.
  std::int64_t partial_pieces = 0;  ///< Pieces of prompts that did not end them.
  std::int64_t unseen = 0;          ///< Requests in the queue of a decision that missed them.
  std::int64_t reordered = 0;       ///< Decisions whose queue was not in the order of arrival.
  std::int64_t gpu_bound = 0;       ///< Steps that hid all of the host's work.
  std::int64_t rejections = 0;      ///< Passes in which a draft token was rejected.
  std::int64_t overlapping = 0;     ///< Steps that started while another was in the pipeline.
  std::int64_t aborts_waiting = 0;  ///< Attempts given up that left the queue,
  std::int64_t aborts_running = 0;  ///< or a batch;
  std::int64_t failures = 0;        ///< Crashes by faults,
  std::int64_t cut_restarts = 0;    ///< of replicas that were down.
  std::int64_t slow_steps = 0;      ///< Steps of stragglers,
  std::int64_t brownout_steps = 0;  ///< and during brown-outs.
  std::int64_t in_vain = 0;         ///< and those that were completed all the same.
  std::int64_t chained_pieces = 0;  ///< Pieces that started before the one before them had ended.
};

/// The outcome of a slow run.
struct SlowRun {
  std::vector<RequestRecord> records;             ///< By request id.
  std::vector<std::vector<Duration>> token_gaps;  ///< By class, of measured requests.
  std::vector<std::int64_t> cached_tokens;        ///< By request id: found when it first ran.
  SlowCounts counts;
  TimePoint end{};
};

/// Simulates a scenario as its replicas would do it by hand: every step walks every sequence, KV
/// blocks have ids, nothing is aggregated. Shares with the engine only what the engine shares with
/// the world: prices, routers, traffic and the memory plan. The scenario's traffic is used up.
[[nodiscard]] SlowRun run_slowly(Scenario& scenario);

}  // namespace tokenline::test
