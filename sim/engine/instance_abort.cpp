// Requests of an instance whose clients have given them up.
#include <algorithm>

#include "sim/engine/instance.hpp"

namespace tokenline {

void Instance::abandon(SequenceId id, bool abort) {
  Sequence& sequence = store_[id];
  const bool decodes = sequence.scheduled > 0 && sequence.stored >= sequence.prefill_tokens;
  if (decodes && !sequence.swapped && sequence.measured) {
    MicroBatch& batch = micro_batches_[sequence.micro_batch];
    const bool decoded = batch.decoding.stored(id) > sequence.stored;
    batch.gaps.stopped(sequence.last_token, sequence.class_index, decoded);
  }
  observe(SequenceEvent::given_up, sequence);
  sequence.abandoned = true;
  sequence.measured = false;
  ++stats_.abandoned;
  if (!abort) return;
  if (down_)
    let_go(id);  // It waits for the restart, and nothing is decided before that.
  else
    aborts_.push_back(id);
}

void Instance::apply_aborts() {
  std::vector<SequenceId> later;
  for (const SequenceId id : aborts_)
    if (in_step(id))
      later.push_back(id);
    else
      let_go(id);
  aborts_ = std::move(later);
}

bool Instance::in_step(SequenceId id) const {
  const Sequence& sequence = store_[id];
  if (sequence.scheduled == 0 || sequence.swapped) return false;  // It waits.
  if (id == partial_ || sequence.under_way > 0) return sequence.under_way > 0;
  return std::ranges::find(under_way_, sequence.micro_batch) != under_way_.end();
}

void Instance::let_go(SequenceId id) {
  if (store_[id].swapped) {
    drop_swapped(id);
    std::erase(swapped_, id);
  } else if (store_[id].scheduled == 0)
    leave_queue(id);
  else
    leave_batch(id);
  stats_.discarded_tokens += store_[id].generated;
  store_.destroy(id);
  ++stats_.aborts;
  --outstanding_;
}

void Instance::leave_queue(SequenceId id) {
  const auto place = static_cast<std::int64_t>(waiting_.remove(id));
  if (place < visible_) --visible_;
  if (place < known_) --known_;
  lose_given_up(id);
  pool_.forget(id);
}

void Instance::leave_batch(SequenceId id) {
  Sequence& sequence = store_[id];
  MicroBatch& batch = micro_batches_[sequence.micro_batch];
  if (id == partial_) {
    partial_ = no_sequence;
    prefilling_stored_ -= sequence.stored;
  } else {
    batch.decoding.leave(id);
    end_decoding(sequence);
  }
  release_blocks(sequence, id);
  stats_.lost_kv_tokens += sequence.stored;
  remove_running(id);
  const bool steps = std::ranges::find(under_way_, sequence.micro_batch) != under_way_.end();
  if (batch.running_count == 0 && !steps) release_held(batch);
}

}  // namespace tokenline
