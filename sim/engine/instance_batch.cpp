// Sequences in and out of an instance's batch.
#include <algorithm>
#include <utility>

#include "sim/engine/instance.hpp"

namespace tokenline {

std::optional<PartialPrefill> Instance::partial() const {
  if (partial_ == no_sequence || (partial_elsewhere() && !joins_partial())) return {};
  const Sequence& sequence = store_[partial_];
  return PartialPrefill{.done = sequence.scheduled,
                        .remaining = sequence.prefill_tokens - sequence.scheduled,
                        .under_way = sequence.under_way > 0};
}

RunningView Instance::running_from_back(std::int64_t i) const {
  SequenceId id = here().running.back();
  const bool first = i == 0;
  if (partial_goes_first()) {
    if (first) id = partial_;
    --i;
  }
  for (; i > 0; --i) id = store_[id].running.previous;
  const bool decodes = id != partial_;
  const std::int64_t stored = decodes ? here().decoding.stored(id) : store_[id].stored;
  return {.blocks = shared_ ? shared_->would_free(id, stored, first) : limits_.blocks(stored),
          .growth = decodes ? here().decoding.growth(id, tokens_per_decode()) : 0};
}

std::int64_t Instance::waiting_cached_tokens(std::int64_t i, std::int64_t taken) const {
  const SequenceId id = waiting_[static_cast<std::size_t>(i)];
  const Sequence& sequence = store_[id];
  if (!shared_) return sequence.preempted ? pool_.kept(id, taken) * limits_.block_size : 0;
  // The engine finds what it has scheduled before in the same step, and not what that took.
  if (i > 0) {
    const SequenceId before = waiting_[static_cast<std::size_t>(i - 1)];
    (void)shared_->take_found(before);
    shared_->publish(before, shared_->found(before) + plan_.admissions.back());
  } else if (plan_.partial_tokens > 0) {
    shared_->publish(partial_, store_[partial_].scheduled + plan_.partial_tokens);
  }
  shared_->cache().hand_out_ahead(taken);
  if (sequence.loaded) return shared_->found(id);
  return shared_->look_up(id, sequence.prefill_tokens, sequence.preempted);
}

void Instance::apply_plan() {
  for (std::int64_t i = 0; i < plan_.preemptions; ++i) preempt_last();
  if (here().running_count == 0) release_held(here());
  if (plan_.decode) pool_.allocate(decode_growth());
  if (plan_.partial_tokens > 0)
    continue_partial_here(plan_.partial_tokens);
  else if (partial_ != no_sequence && store_[partial_].under_way == 0)
    partial_starved_ = true;
  first_admissions_ = 0;
  for (const std::int64_t tokens : plan_.admissions) {
    if (tokens > 0)
      admit(tokens);
    else
      begin_load();
  }
  if (unused_blocks_ > 0) pool_.release(std::exchange(unused_blocks_, 0));
  TOKENLINE_CHECK(!shared_ || shared_->cache().settled(), "a step took fewer blocks than planned");
  stats_.peak_running = std::max(stats_.peak_running, in_batches());
}

void Instance::preempt_last() {
  const SequenceId id = partial_goes_first() ? partial_ : here().running.back();
  Sequence& sequence = store_[id];
  RequestRecord& request = record(sequence);
  if (id == partial_) {
    settle_partial(sequence);
    partial_ = no_sequence;
    prefilling_stored_ -= sequence.stored;
  } else {
    MicroBatch& batch = here();
    const bool decoded = batch.decoding.stored(id) > sequence.stored;
    batch.decoding.leave(id);
    end_decoding(sequence);
    if (sequence.measured) batch.gaps.stopped(sequence.last_token, sequence.class_index, decoded);
    if (decoded) sequence.last_token = batch.last_decode;
  }
  ++request.preemptions;
  ++stats_.preemptions;
  remove_running(id);
  if (swap_out(id)) return;
  offload(id, sequence.stored);
  release_preempted(id);
  request.recomputed_tokens += sequence.stored;
  sequence.prefill_tokens = log_.records[sequence.request].prompt_tokens + sequence.generated;
  sequence.thrown_away = std::max(sequence.thrown_away, sequence.stored);
  sequence.stored = 0;
  sequence.scheduled = 0;
  sequence.preempted = true;
  sequence.since = simulation_.now();
  observe(SequenceEvent::preempted, sequence);
  waiting_.put_first(id, static_cast<std::size_t>(loaded_waiting_));
  ++visible_;
}

void Instance::release_preempted(SequenceId id) {
  const std::int64_t stored = store_[id].stored;
  if (shared_) {
    // What of it is not found again counts when that is known.
    pool_.count_freed(shared_->release(id, stored, true));
    return;
  }
  // Only a full block can be found again, as in vLLM; its tokens are lost when others take it.
  const std::int64_t full = config_.enable_prefix_caching ? stored / limits_.block_size : 0;
  pool_.release(limits_.blocks(stored) - full);
  pool_.keep(id, full);
  stats_.recomputed_tokens += stored - full * limits_.block_size;
}

void Instance::continue_partial_here(std::int64_t tokens) {
  const SequenceId id = partial_;
  Sequence& sequence = store_[id];
  pool_.allocate(limits_.blocks(sequence.scheduled + tokens) - limits_.blocks(sequence.scheduled));
  settle_partial(sequence);
  if (sequence.micro_batch != deciding_) {
    remove_running(id);
    add_running(id);
  }
  add_piece(id, tokens);
}

void Instance::admit(std::int64_t tokens) {
  const SequenceId id = waiting_.pop_front();
  --visible_;
  Sequence& sequence = store_[id];
  sequence.stored = find_again(sequence, id);
  sequence.scheduled = sequence.stored;
  prefilling_stored_ += sequence.stored;
  const bool has_blocks = sequence.loaded;
  if (has_blocks) take_over_loaded(sequence, tokens);
  if (sequence.preempted) {
    record(sequence).parts[Part::preempted] += simulation_.now() - sequence.since;
  } else {
    end_waiting(sequence);
    ++first_admissions_;
  }
  observe(SequenceEvent::admitted, sequence);
  sequence.preempted = false;
  sequence.order = next_order_++;
  sequence.accounted = simulation_.now();
  add_running(id);
  if (!has_blocks)
    pool_.allocate(limits_.blocks(sequence.stored + tokens) - limits_.blocks(sequence.stored));
  add_piece(id, tokens);
}

std::int64_t Instance::find_again(const Sequence& sequence, SequenceId id) {
  if (!shared_) {
    if (!sequence.preempted) return 0;
    const std::int64_t own = pool_.take_back(id) * limits_.block_size;
    record(sequence).recomputed_tokens -= own;
    return own;
  }
  if (!sequence.loaded) pool_.count_taken(shared_->take_found(id));
  count_found(sequence, id);
  return shared_->found(id);
}

void Instance::add_piece(SequenceId id, std::int64_t tokens) {
  Sequence& sequence = store_[id];
  TOKENLINE_CHECK(tokens >= 1 && sequence.scheduled + tokens <= sequence.prefill_tokens,
                  "a piece of {} tokens after {} of {}", tokens, sequence.scheduled,
                  sequence.prefill_tokens);
  const hw::Chunk chunk{.new_tokens = tokens, .past_tokens = sequence.scheduled};
  sequence.scheduled += tokens;
  if (shared_) shared_->publish(id, sequence.scheduled);
  ++sequence.under_way;
  prefilling_stored_ += tokens;
  const bool last = sequence.scheduled == sequence.prefill_tokens;
  here().pieces.push_back({.id = id, .chunk = chunk, .last = last});
  partial_ = last ? no_sequence : id;
  partial_starved_ = false;
}

void Instance::emit_token(MicroBatch& batch, SequenceId id) {
  Sequence& sequence = store_[id];
  RequestRecord& request = record(sequence);
  const TimePoint now = simulation_.now();
  ++stats_.emitted_tokens;
  waiting_.emitted(sequence, 1);
  ++sequence.generated;
  if (sequence.generated == 1) {
    observe(SequenceEvent::first_token, sequence);
    if (first_token_leaves_ || sequence.output_tokens == 1) {
      request.first_token = now;
      request.ttft_parts = TtftParts(request.parts);
    }
  } else if (sequence.measured) {
    log_.token_gaps[sequence.class_index].add(now - sequence.last_token);
  }
  sequence.last_token = now;
  prefilling_stored_ -= sequence.stored;
  if (sequence.generated == sequence.output_tokens) {
    complete(batch, id);
    return;
  }
  if (hands_over_) {
    hand_over(id);
    return;
  }
  begin_decoding(sequence);
  batch.decoding.join(id);
  if (sequence.measured) batch.gaps.started(now, sequence.class_index);
}

void Instance::complete(MicroBatch& batch, SequenceId id) {
  const Sequence& sequence = store_[id];
  RequestRecord& request = record(sequence);
  const std::uint32_t request_id = sequence.request;
  const bool in_vain = sequence.abandoned;
  if (in_vain) {
    std::erase(aborts_, id);
    stats_.discarded_tokens += sequence.generated;
    stats_.lost_kv_tokens += sequence.stored;
  }
  offload(id, sequence.stored);
  request.finish = simulation_.now();
  request.outcome = Outcome::completed;
  if (!in_vain) observe(SequenceEvent::finished, sequence);
  if (shared_ && !in_vain) shared_->deliver(id, request_id, request);
  remove_running(id);
  if (scheduler_->holds_finished()) {
    batch.held.push_back(id);
    if (shared_) shared_->publish(id, sequence.stored);
    batch.held_stored += sequence.stored;
    ++held_count_;
    held_blocks_ += limits_.blocks(sequence.stored);
  } else {
    release_blocks(sequence, id);
    store_.destroy(id);
  }
  --outstanding_;
  if (!in_vain) listener_.completed(request_id);
}

void Instance::release_blocks(const Sequence& sequence, SequenceId id) {
  if (shared_)
    pool_.count_freed(shared_->release(id, sequence.stored, false));
  else
    pool_.release(limits_.blocks(sequence.stored));
}

void Instance::release_held(MicroBatch& batch) {
  // Which blocks are overwritten first: in order of admission, as where all finish at once.
  if (shared_)
    std::ranges::sort(batch.held, {}, [this](SequenceId id) { return store_[id].order; });
  for (const SequenceId id : batch.held) {
    release_blocks(store_[id], id);
    held_blocks_ -= limits_.blocks(store_[id].stored);
    --held_count_;
    store_.destroy(id);
  }
  batch.held.clear();
  batch.held_stored = 0;
}

void Instance::add_running(SequenceId id) {
  store_[id].micro_batch = deciding_;
  here().running.push_back(store_, id);
  ++here().running_count;
  ++running_count_;
  final_blocks_ += limits_.blocks(final_tokens(store_[id]));
}

void Instance::remove_running(SequenceId id) {
  MicroBatch& batch = micro_batches_[store_[id].micro_batch];
  batch.running.erase(store_, id);
  --batch.running_count;
  --running_count_;
  final_blocks_ -= limits_.blocks(final_tokens(store_[id]));
}

}  // namespace tokenline
