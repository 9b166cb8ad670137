// Sequences in and out of an instance's batch.
#include <algorithm>

#include "sim/engine/instance.hpp"

namespace tokenline {

std::optional<PartialPrefill> Instance::partial() const {
  if (partial_ == no_sequence) return {};
  const Sequence& sequence = store_[partial_];
  return PartialPrefill{.done = sequence.stored,
                        .remaining = sequence.prefill_tokens - sequence.stored};
}

RunningView Instance::running_from_back(std::int64_t i) const {
  SequenceId id = running_.back();
  for (; i > 0; --i) id = store_[id].running.previous;
  if (id == partial_) return {.blocks = limits_.blocks(store_[id].stored), .needs_block = false};
  return {.blocks = limits_.blocks(batch_.stored(id)), .needs_block = batch_.needs_block(id)};
}

void Instance::apply_plan() {
  for (std::int64_t i = 0; i < plan_.preemptions; ++i) preempt_last();
  if (running_count_ == 0) release_held();
  if (plan_.decode) pool_.allocate(batch_.growth());
  if (plan_.partial_tokens > 0) {
    const std::int64_t done = store_[partial_].stored;
    pool_.allocate(limits_.blocks(done + plan_.partial_tokens) - limits_.blocks(done));
    add_piece(partial_, plan_.partial_tokens);
    partial_ = no_sequence;
  }
  first_admissions_ = 0;
  for (const std::int64_t tokens : plan_.admissions) admit(tokens);
  stats_.peak_running = std::max(stats_.peak_running, running());
}

void Instance::preempt_last() {
  const SequenceId id = running_.back();
  Sequence& sequence = store_[id];
  RequestRecord& request = record(sequence);
  if (id == partial_) {
    partial_ = no_sequence;
    prefilling_stored_ -= sequence.stored;
  } else {
    const bool decoded = batch_.stored(id) > sequence.stored;
    batch_.leave(id);
    end_decoding(sequence);
    if (sequence.measured) gaps_.stopped(sequence.last_token, sequence.class_index, decoded);
    if (decoded) sequence.last_token = last_decode_;
  }
  release_preempted(id);
  ++request.preemptions;
  ++stats_.preemptions;
  request.recomputed_tokens += sequence.stored;
  sequence.prefill_tokens = request.prompt_tokens + sequence.generated;
  sequence.thrown_away = std::max(sequence.thrown_away, sequence.stored);
  sequence.stored = 0;
  sequence.preempted = true;
  sequence.since = simulation_.now();
  remove_running(id);
  waiting_.push_front(id);
  ++visible_;
}

void Instance::release_preempted(SequenceId id) {
  const std::int64_t stored = store_[id].stored;
  // Only a full block can be found again, as in vLLM; its tokens are lost when others take it.
  const std::int64_t full = config_.enable_prefix_caching ? stored / limits_.block_size : 0;
  pool_.release(limits_.blocks(stored) - full);
  pool_.keep(id, full);
  stats_.recomputed_tokens += stored - full * limits_.block_size;
}

void Instance::admit(std::int64_t tokens) {
  const SequenceId id = waiting_.front();
  waiting_.pop_front();
  --visible_;
  Sequence& sequence = store_[id];
  if (sequence.preempted) {
    record(sequence).parts[Part::preempted] += simulation_.now() - sequence.since;
    sequence.stored = pool_.take_back(id) * limits_.block_size;
    record(sequence).recomputed_tokens -= sequence.stored;
    prefilling_stored_ += sequence.stored;
  } else {
    end_waiting(sequence);
    ++first_admissions_;
  }
  sequence.preempted = false;
  sequence.order = next_order_++;
  running_.push_back(store_, id);
  ++running_count_;
  final_blocks_ += limits_.blocks(final_tokens(sequence));
  pool_.allocate(limits_.blocks(sequence.stored + tokens) - limits_.blocks(sequence.stored));
  add_piece(id, tokens);
}

void Instance::add_piece(SequenceId id, std::int64_t tokens) {
  const Sequence& sequence = store_[id];
  TOKENLINE_CHECK(tokens >= 1 && sequence.stored + tokens <= sequence.prefill_tokens,
                  "a piece of {} tokens after {} of {}", tokens, sequence.stored,
                  sequence.prefill_tokens);
  pieces_.push_back({.id = id,
                     .chunk = {.new_tokens = tokens, .past_tokens = sequence.stored},
                     .last = sequence.stored + tokens == sequence.prefill_tokens});
}

void Instance::emit_token(SequenceId id) {
  Sequence& sequence = store_[id];
  RequestRecord& request = record(sequence);
  const TimePoint now = simulation_.now();
  ++stats_.emitted_tokens;
  ++sequence.generated;
  if (sequence.generated == 1) {
    request.first_token = now;
    request.ttft_parts = TtftParts(request.parts);
  } else if (sequence.measured) {
    log_.token_gaps[sequence.class_index].add(now - sequence.last_token);
  }
  sequence.last_token = now;
  prefilling_stored_ -= sequence.stored;
  if (sequence.generated == sequence.output_tokens) {
    complete(id);
    return;
  }
  begin_decoding(sequence);
  batch_.join(id);
  if (sequence.measured) gaps_.started(now, sequence.class_index);
}

void Instance::complete(SequenceId id) {
  const Sequence& sequence = store_[id];
  RequestRecord& request = record(sequence);
  const std::uint32_t request_id = sequence.request;
  request.finish = simulation_.now();
  request.outcome = Outcome::completed;
  remove_running(id);
  if (scheduler_->holds_finished()) {
    held_.push_back(id);
    held_stored_ += sequence.stored;
    held_blocks_ += limits_.blocks(sequence.stored);
  } else {
    pool_.release(limits_.blocks(sequence.stored));
    store_.destroy(id);
  }
  --outstanding_;
  listener_.completed(request_id);
}

void Instance::release_held() {
  for (const SequenceId id : held_) {
    pool_.release(limits_.blocks(store_[id].stored));
    store_.destroy(id);
  }
  held_.clear();
  held_stored_ = 0;
  held_blocks_ = 0;
}

void Instance::remove_running(SequenceId id) {
  running_.erase(store_, id);
  --running_count_;
  final_blocks_ -= limits_.blocks(final_tokens(store_[id]));
}

}  // namespace tokenline
