// KV of the slow engine that is kept behind the pool.
#include <algorithm>

#include "tests/support/slow_replica.hpp"

namespace tokenline::test {

/// All whole blocks of a sequence are written behind the pool. Where KV is kept there no client
/// gives up: what is delivered is what was computed.
void SlowReplica::keep(const SlowSequence& sequence) {
  if (!tiers_) return;
  tiers_->store(tiers_->names(delivered_text_of(sequence.request, sequence.came),
                              limits_.block_size, sequence.stored / limits_.block_size),
                world_.events.now());
}

/// What the tiers have behind the first `blocks` blocks of a sequence. Its last token is computed.
SlowTiers::Names SlowReplica::find_further(const SlowSequence& sequence, std::int64_t blocks) {
  if (!tiers_) return {};
  const SlowTiers::Names names =
      tiers_->names(delivered_text_of(sequence.request, sequence.came), limits_.block_size,
                    (sequence.prefill - 1) / limits_.block_size);
  const auto first = names.begin() + std::min<std::int64_t>(blocks, std::ssize(names));
  return {first, std::find_if(first, names.end(),
                              [this](std::int64_t name) { return !tiers_->has(name); })};
}

void SlowReplica::begin_load(const SlowSequencePtr& next, const SlowTiers::Names& further,
                             SlowStep& step) {
  const TimePoint now = world_.events.now();
  pool_.reserve(next->came, next->prefill);
  if (!next->preempted) leave_queue(*next);
  waiting_.pop_front();
  loading_.push_back(next);
  ++step.loads;
  const std::int64_t tokens = std::ssize(further) * limits_.block_size;
  const auto [end, wire] = tiers_->load(further, now);
  world_.run.counts.queued_loads += end - now > wire ? 1 : 0;
  charge(*next, Part::transfer_queue, end - now - wire);
  charge(*next, Part::transfer_wire, wire);
  world_.events.at(end, Phase::completion, [this, next, tokens, life = life_] {
    if (life != life_) return;
    TOKENLINE_CHECK(pool_.append(next->came, tokens), "blocks that were reserved are not there");
    next->found += tokens;
    next->there = true;
    next->landed = world_.events.now();
    if (!up_ || decide_at_ || !in_pipeline_.empty()) return;
    decide_at_ = world_.events.now();
    expect();
  });
}

/// Behind those that have loaded their KV, before all others.
void SlowReplica::put_first(const SlowSequencePtr& sequence) {
  const auto place = std::ranges::find_if_not(waiting_, &SlowSequence::loaded,
                                              [](const auto& other) -> auto& { return *other; });
  waiting_.insert(place, sequence);
}

/// Those whose KV has come are the first in the queue.
void SlowReplica::look_at_loaded() {
  for (const auto& sequence : loading_) {
    if (!sequence->there) continue;
    charge(*sequence, Part::wait_step, world_.events.now() - sequence->landed);
    put_first(sequence);
    sequence->loaded = true;
    sequence->seen = true;
  }
  std::erase_if(loading_, [](const auto& sequence) { return sequence->there; });
  for (const auto& sequence : waiting_) sequence->there = false;
}

}  // namespace tokenline::test
