// Where time goes in the slow engine.
#include <algorithm>

#include "sim/base/check.hpp"
#include "tests/support/slow_replica.hpp"

namespace tokenline::test {
namespace {

Part part_of(Blocked blocked) {
  switch (blocked) {
    case Blocked::sequence_slot:
      return Part::wait_sequence_slot;
    case Blocked::kv_blocks:
      return Part::wait_kv_blocks;
    case Blocked::token_budget:
      return Part::wait_token_budget;
    case Blocked::nothing:
      break;
  }
  TOKENLINE_CHECK(false, "a request waits for nothing");
}

}  // namespace

void SlowReplica::charge(const SlowSequence& sequence, Part part, Duration time) {
  if (sequence.abandoned) return;
  world_.run.records[sequence.request].parts[part] += time;
}

/// The queue since the last decision.
void SlowReplica::charge_waiting() {
  const TimePoint now = world_.events.now();
  for (const auto& sequence : waiting_) {
    if (!sequence->seen)
      charge(*sequence, Part::wait_step, now - std::max(sequence->joined, decided_));
    else if (sequence->preempted)
      charge(*sequence, Part::preempted, now - decided_);
    else if (now > decided_)
      charge(*sequence, part_of(blocked_), now - decided_);
  }
  for (const auto& sequence : swapped_) charge(*sequence, Part::preempted, now - decided_);
  decided_ = now;
}

/// Decodes of a batch that was ready while the host dealt with another one.
void SlowReplica::charge_pause() {
  SlowBatch& batch = batches_[here_];
  const TimePoint now = world_.events.now();
  for (const auto& sequence : batch.running)
    if (!sequence->prefilling() && !sequence->finished())
      charge(*sequence, Part::pipeline_wait, now - batch.ended);
  batch.ended = now;
}

/// The time of a partly prefilled sequence since its last piece.
void SlowReplica::charge_gap(SlowSequence& sequence) {
  const TimePoint now = world_.events.now();
  if (sequence.under_way() || sequence.accounted >= now) return;
  charge(sequence, sequence.starved ? Part::wait_token_budget : Part::pipeline_wait,
         now - sequence.accounted);
  sequence.accounted = now;
}

void SlowReplica::charge_pieces(const SlowStep& step) {
  for (const auto& piece : step.pieces) {
    const hw::Chunk chunk = piece.chunk();
    const Duration alone = price({.chunks = {&chunk, 1}, .sampled = piece.last ? 1 : 0}, step);
    SlowSequence& sequence = *piece.sequence;
    // Pieces follow each other through the pipeline: what the one before has not taken.
    Duration left = step.end - std::max(sequence.accounted, step.start);
    sequence.accounted = step.end;
    const auto charge_at_most = [&](Part part, Duration time) {
      charge(sequence, part, std::min(time, left));
      left -= std::min(time, left);
    };
    const Duration own = std::min(alone, step.gpu);
    const bool repeats = piece.past < sequence.thrown_away;
    charge_at_most(repeats ? Part::recomputed : Part::own_prefill, own);
    charge_at_most(repeats ? Part::recomputed : Part::prefill_stretched, step.gpu - own);
    charge_at_most(Part::host_gap, step.host);
    charge_at_most(Part::pipeline_wait, step.waiting);
  }
}

void SlowReplica::charge_decodes(const SlowBatch& batch) {
  const SlowStep& step = *batch.step;
  if (step.decodes.empty()) {
    for (const auto& sequence : batch.running)
      if (!sequence->prefilling() && !sequence->finished()) {
        charge(*sequence, Part::host_gap, step.host);
        charge(*sequence, Part::decode_stalled, step.gpu);
        charge(*sequence, Part::pipeline_wait, step.waiting);
      }
    return;
  }
  // Less work is not always faster: a part is at most what it is a part of.
  const Duration all = std::min(price_of_decodes(step), step.gpu);
  const Duration floor = std::min(price_of_mean_decode(step), all);
  for (const auto& sequence : step.decodes) {
    charge(*sequence, Part::host_gap, step.host);
    charge(*sequence, Part::transfer_wire, step.copying);
    charge(*sequence, Part::decode_floor, floor);
    charge(*sequence, Part::decode_stretched, all - floor);
    charge(*sequence, Part::decode_stalled, step.gpu - all);
    charge(*sequence, Part::pipeline_wait, step.waiting);
  }
}

}  // namespace tokenline::test
