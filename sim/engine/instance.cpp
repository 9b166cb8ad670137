#include "sim/engine/instance.hpp"

#include <algorithm>

namespace tokenline {

Instance::Instance(Wiring wiring)
    : simulation_(wiring.simulation),
      log_(wiring.log),
      listener_(wiring.listener),
      config_(wiring.config),
      cost_(wiring.cost),
      memory_(wiring.memory),
      scheduler_(std::move(wiring.scheduler)),
      restart_delay_(wiring.restart_delay),
      index_(wiring.index),
      pool_(memory_.blocks),
      batch_(store_, config_.pool_block_size(), config_.max_model_len),
      gaps_(log_.token_gaps.size()) {
  limits_ = {.max_num_seqs = memory_.groups * config_.max_num_seqs,
             .max_num_batched_tokens = memory_.groups * config_.max_num_batched_tokens,
             .block_size = config_.pool_block_size(),
             .watermark_blocks = config_.watermark_blocks(memory_.blocks)};
  // Before its first step an instance holds its weights, and its pool where that is reserved.
  stats_.hbm_peak = memory_.in_use(config_.kv_sizing, 0, Bytes(0.0));
  stats_.hbm_peak_asked = stats_.hbm_peak;
}

void Instance::enqueue(std::uint32_t request) {
  const SequenceId id = store_.create();
  Sequence& sequence = store_[id];
  RequestRecord& record = log_.records[request];
  record.instance = index_;
  sequence.request = request;
  sequence.class_index = record.class_index;
  sequence.measured = record.measured;
  sequence.output_tokens = record.output_tokens;
  sequence.prefill_tokens = record.prompt_tokens;
  waiting_.push_back(id);
  ++outstanding_;
  begin_waiting(sequence);
  stats_.peak_waiting = std::max(stats_.peak_waiting, queue_length());
  if (!stepping_ && !down_) wake();
}

void Instance::wake() {
  if (decision_pending_) return;
  decision_pending_ = true;
  simulation_.at(simulation_.now(), Phase::decision, [this] { run_steps(); });
}

void Instance::run_steps() {
  decision_pending_ = false;
  while (start_step()) {
    if (!simulation_.try_advance(boundary_, Phase::completion)) {
      simulation_.at(boundary_, Phase::completion, [this] { after_step(); });
      return;
    }
    finish_step();
    if (!simulation_.try_advance(boundary_, Phase::decision)) {
      wake();
      return;
    }
  }
}

void Instance::after_step() {
  finish_step();
  if (simulation_.try_advance(boundary_, Phase::decision))
    run_steps();
  else
    wake();
}

void Instance::look_at_queue() {
  // An engine that decides ahead has looked when the step that just ended started; one that had
  // nothing to do looks at once.
  if (!config_.schedule_ahead || (running_count_ == 0 && visible_ == 0)) visible_ = queue_length();
}

bool Instance::start_step() {
  boundary_ = simulation_.now();
  look_at_queue();
  do {
    plan_.clear();
    if (waiting_.empty() && running_count_ == 0) return false;
    scheduler_->plan(*this, plan_);
    apply_plan();
    // A plan that only preempts has freed blocks for another one at the same instant.
  } while (pieces_.empty() && !plan_.decode && plan_.preemptions > 0);
  TOKENLINE_CHECK(!pieces_.empty() || plan_.decode,
                  "at {} ns instance {} has {} waiting and {} running requests and no step to do",
                  simulation_.now().time_since_epoch().count(), index_, queue_length(), running());
  const Bytes asked = memory_.in_use(config_.kv_sizing, pool_.used(), step_activations());
  stats_.hbm_peak_asked = std::max(stats_.hbm_peak_asked, asked);
  if (asked > memory_.capacity) {
    crash();
    return false;
  }
  stats_.hbm_peak = std::max(stats_.hbm_peak, asked);
  price_step();
  visible_ = queue_length();
  stepping_ = true;
  return true;
}

void Instance::finish_step() {
  stepping_ = false;
  if (plan_.decode) {
    last_decode_ = simulation_.now();
    gaps_.decoded(last_decode_, log_.token_gaps);
    stats_.emitted_tokens += batch_.size();
    stats_.decoded_tokens += batch_.size();
    batch_.advance();
    for (const SequenceId id : batch_.finished()) {
      Sequence& sequence = store_[id];
      batch_.leave(id);
      if (sequence.measured) gaps_.stopped(simulation_.now(), sequence.class_index, true);
      end_decoding(sequence);
      complete(id);
    }
  }
  deliver_prefills();
  if (running_count_ == 0) release_held();
}

void Instance::deliver_prefills() {
  for (const PrefillPiece& piece : pieces_) {
    Sequence& sequence = store_[piece.id];
    sequence.stored += piece.chunk.new_tokens;
    prefilling_stored_ += piece.chunk.new_tokens;
    if (piece.last)
      emit_token(piece.id);
    else
      partial_ = piece.id;
  }
  pieces_.clear();
}

void Instance::crash() {
  ++stats_.restarts;
  down_ = true;
  std::vector<std::uint32_t> lost;
  while (!running_.empty()) {
    const SequenceId id = running_.front();
    const Sequence& sequence = store_[id];
    lost.push_back(sequence.request);
    if (sequence.stored == sequence.prefill_tokens) {  // it decodes
      const bool stepped = batch_.stored(id) > sequence.stored;
      batch_.leave(id);
      if (sequence.measured) gaps_.stopped(sequence.last_token, sequence.class_index, stepped);
    }
    stats_.discarded_tokens += sequence.generated;
    stats_.lost_kv_tokens += sequence.stored;
    remove_running(id);
    store_.destroy(id);
  }
  for (const SequenceId id : waiting_) {
    lost.push_back(store_[id].request);
    stats_.discarded_tokens += store_[id].generated;
    store_.destroy(id);
  }
  waiting_.clear();
  visible_ = 0;
  pieces_.clear();
  partial_ = no_sequence;
  prefilling_stored_ = 0;
  release_held();
  pool_.clear();
  outstanding_ = 0;
  boundary_ = simulation_.now() + restart_delay_;
  stats_.down += restart_delay_;
  simulation_.at(boundary_, Phase::completion, [this] { recover(); });
  for (const std::uint32_t request : lost) listener_.crashed(request);
}

void Instance::recover() {
  down_ = false;
  if (!waiting_.empty()) wake();
}

InstanceStats Instance::stats() const {
  InstanceStats stats = stats_;
  stats.as_of = stepping_ || down_ ? boundary_ : simulation_.now();
  stats.kv_peak_blocks = pool_.peak_used();
  stats.recomputed_tokens += pool_.overwritten() * limits_.block_size;
  return stats;
}

}  // namespace tokenline
