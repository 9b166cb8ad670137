// Sequences that an instance hands over to another one for decoding, or takes over from one.
#include <algorithm>

#include "sim/engine/instance.hpp"

namespace tokenline {

/// Blocks of a sequence that does not run, but is held here.
void Instance::park(SequenceId id) {
  held_blocks_ += limits_.blocks(store_[id].stored);
  parked_stored_ += store_[id].stored;
}

void Instance::unpark(SequenceId id) {
  held_blocks_ -= limits_.blocks(store_[id].stored);
  parked_stored_ -= store_[id].stored;
}

void Instance::hand_over(SequenceId id) {
  observe(SequenceEvent::handed_over, store_[id]);
  remove_running(id);
  handed_over_.push_back(id);
  park(id);
  listener_.prefilled(store_[id].request, id);
}

void Instance::tell_pieces(const Passage& passage) {
  for (const PrefillPiece& piece : here().pieces) {
    const Sequence& sequence = store_[piece.id];
    if (sequence.output_tokens == 1) continue;  // ends here
    listener_.computing({.request = sequence.request,
                         .first = piece.chunk.past_tokens,
                         .last = piece.chunk.past_tokens + piece.chunk.new_tokens,
                         .begin = passage.end - passage.gpu,
                         .end = passage.end});
  }
}

SequenceId Instance::expect(std::uint32_t request) {
  const SequenceId id = store_.create();
  Sequence& sequence = store_[id];
  const RequestRecord& record = log_.records[request];
  sequence.request = request;
  sequence.class_index = record.class_index;
  sequence.measured = record.measured;
  sequence.output_tokens = record.output_tokens;
  sequence.prefill_tokens = record.prompt_tokens;
  sequence.scheduled = record.prompt_tokens;
  sequence.stored = record.prompt_tokens;
  sequence.generated = 1;
  if (shared_) shared_->begin(id, request, record);
  expected_.push_back(id);
  ++outstanding_;
  wake();
  return id;
}

void Instance::reserve_expected() {
  // What the replica preempted, or has itself to prefill, goes before what comes.
  if (blocked_ == Blocked::kv_blocks && !waiting_.empty()) return;
  while (!expected_.empty()) {
    const SequenceId id = expected_.front();
    const Sequence& sequence = store_[id];
    const std::int64_t blocks = limits_.blocks(sequence.stored);
    const std::int64_t found = shared_ ? shared_->look_up(id, sequence.stored, false) : 0;
    const std::int64_t held = shared_ ? shared_->held_by_others(id) : 0;
    if (blocks - held + limits_.watermark_blocks + decode_growth() > pool_.free()) return;
    expected_.pop_front();
    reserved_.push_back(id);
    if (shared_) {
      pool_.count_taken(shared_->take_found(id));
      stats_.queried_tokens += sequence.stored;
      stats_.hit_tokens += found;
      stats_.spared_tokens += found;
    }
    pool_.allocate(blocks - found / limits_.block_size);
    held_blocks_ += blocks;
    parked_stored_ += found;
    listener_.reserved(sequence.request, found);
  }
}

void Instance::land(SequenceId id) {
  std::erase(reserved_, id);
  landed_.push_back(id);
  Sequence& sequence = store_[id];
  if (shared_) shared_->publish(id, sequence.stored);  // Not before it is all there.
  RequestRecord& request = record(sequence);
  request.instance = index_;
  sequence.last_token = request.first_token;
  sequence.since = simulation_.now();
  observe(SequenceEvent::landed, sequence);
  parked_stored_ += sequence.stored - found_here(id);
  wake();
}

void Instance::look_at_landed() {
  const TimePoint now = simulation_.now();
  for (; seen_landed_ < landed_.size(); ++seen_landed_) {
    Sequence& sequence = store_[landed_[seen_landed_]];
    record(sequence).parts[Part::wait_step] += now - sequence.since;
    sequence.since = now;
  }
  while (!landed_.empty() && own_slots() < limits_.max_num_seqs) {
    const SequenceId id = landed_.front();
    landed_.pop_front();
    --seen_landed_;
    Sequence& sequence = store_[id];
    record(sequence).parts[Part::wait_sequence_slot] += now - sequence.since;
    unpark(id);
    observe(SequenceEvent::admitted, sequence);
    sequence.order = next_order_++;
    add_running(id);
    if (partial_ != no_sequence) {
      // The prompt in pieces stays the last of the list, and the first to be preempted.
      here().running.erase(store_, partial_);
      here().running.push_back(store_, partial_);
      store_[partial_].order = next_order_++;
    }
    begin_decoding(sequence);
    here().decoding.join(id);
    if (sequence.measured) here().gaps.started(sequence.last_token, sequence.class_index);
  }
  stats_.peak_running = std::max(stats_.peak_running, in_batches());
}

void Instance::forget(SequenceId id, bool lost) {
  Sequence& sequence = store_[id];
  const std::int64_t blocks = limits_.blocks(sequence.stored);
  if (std::erase(handed_over_, id) > 0) {
    unpark(id);
    release_blocks(sequence, id);
    if (lost) {
      stats_.discarded_tokens += sequence.generated;
      stats_.lost_kv_tokens += sequence.stored;
    }
  } else if (std::erase(reserved_, id) > 0) {
    held_blocks_ -= blocks;
    parked_stored_ -= found_here(id);
    if (shared_) shared_->never_stored(id);
    release_blocks(sequence, id);
  } else {
    std::erase(expected_, id);
  }
  store_.destroy(id);
  --outstanding_;
  wake();
}

}  // namespace tokenline
