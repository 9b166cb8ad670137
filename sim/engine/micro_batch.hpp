#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "hwmodels/step_cost.hpp"
#include "sim/engine/decode_batch.hpp"
#include "sim/engine/token_gaps.hpp"

namespace tokenline {

/// A piece of a prompt in a step.
struct PrefillPiece {
  SequenceId id = no_sequence;
  hw::Chunk chunk;
  bool last = false;  ///< Completes the prefill: a token is sampled.
};

/// Sequences that go through the pipeline together, step after step. A replica has as many as its
/// pipeline has stages, and one without a pipeline.
struct MicroBatch {
  MicroBatch(SequenceStore& store, std::int64_t block_size, std::int64_t max_remaining,
             std::size_t classes)
      : decoding(store, block_size, max_remaining), gaps(classes) {}

  DecodeBatch decoding;
  TokenGaps gaps;
  SequenceList<&Sequence::running> running;
  std::int64_t running_count = 0;
  std::vector<SequenceId> held;  ///< Finished, kept until the batch has finished.
  std::int64_t held_stored = 0;

  // The step under way, or the last one.
  bool decodes = false;
  std::int64_t drafts = 0;  ///< Draft tokens of each sequence that decodes.
  std::vector<PrefillPiece> pieces;
  TimePoint end{};

  TimePoint last_decode{};  ///< When its decodes last emitted tokens.
  /// Prefix sums of what its decodes spent, as of `end`: host gap, floor, stretched, stalled,
  /// waiting in the pipeline, and for blocks that are swapped.
  std::array<Duration, 6> decoded{};
};

}  // namespace tokenline
