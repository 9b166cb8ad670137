#include "sim/engine/instance.hpp"

#include <algorithm>
#include <numeric>

namespace tokenline {

Instance::Instance(Wiring wiring)
    : simulation_(wiring.simulation),
      log_(wiring.log),
      listener_(wiring.listener),
      config_(wiring.config),
      cost_(wiring.cost),
      memory_(wiring.memory),
      scheduler_(std::move(wiring.scheduler)),
      lookahead_(wiring.speculation == nullptr ? 0 : wiring.speculation->tokens),
      faults_(wiring.faults),
      price_changes_(wiring.price_changes),
      prices_(&cost_),
      restart_delay_(wiring.restart_delay),
      index_(wiring.index),
      hands_over_(wiring.hands_over),
      first_token_leaves_(wiring.first_token_leaves),
      tells_pieces_(wiring.tells_pieces),
      observer_(wiring.observer),
      pool_(memory_.front().blocks),
      host_plan_(wiring.host),
      host_(host_plan_.swap_blocks),
      waiting_(store_, log_, std::move(wiring.queue), cost_.stages()),
      idle_(cost_.stages()),
      stage_free_(cost_.stages()),
      stage_times_(cost_.stages()) {
  limits_ = {.max_num_seqs = memory_.front().groups * config_.max_num_seqs,
             .max_num_batched_tokens = memory_.front().groups * config_.max_num_batched_tokens,
             .block_size = config_.pool_block_size(),
             .watermark_blocks = config_.watermark_blocks(pool_.total())};
  micro_batches_.reserve(cost_.stages());
  for (std::size_t i = 0; i < cost_.stages(); ++i)
    micro_batches_.emplace_back(store_, limits_.block_size, config_.max_model_len,
                                log_.token_gaps.size());
  const std::int64_t layers = cost_.setup().model.layers;
  for (const std::int64_t own :
       models::stage_layers(layers, static_cast<std::int64_t>(cost_.stages())))
    layer_shares_.push_back(static_cast<double>(own) / static_cast<double>(layers));
  if (wiring.shared != nullptr) {
    shared_ = std::make_unique<SharedPrefixes>(pool_.total(), limits_.block_size, *wiring.shared);
    pool_.queue_in(shared_->cache());
  }
  if (!host_plan_.tiers.empty()) tiers_.emplace(host_plan_.tiers);
  if (wiring.speculation != nullptr) speculator_.emplace(*wiring.speculation, wiring.seed);
  std::iota(idle_.begin(), idle_.end(), 0U);
  // Before its first step an instance holds its weights, and its pool where that is reserved.
  for (const MemoryPlan& stage : memory_) {
    stats_.hbm_peak = std::max(stats_.hbm_peak, stage.in_use(config_.kv_sizing, 0, Bytes(0.0)));
    reserved_memory_ =
        std::max(reserved_memory_, stage.in_use(config_.kv_sizing, 0, stage.activation_peak));
  }
  stats_.hbm_peak_asked = stats_.hbm_peak;
}

SequenceId Instance::enqueue(std::uint32_t request) {
  const SequenceId id = store_.create();
  Sequence& sequence = store_[id];
  RequestRecord& record = log_.records[request];
  record.instance = index_;
  sequence.request = request;
  sequence.class_index = record.class_index;
  sequence.measured = record.measured;
  sequence.output_tokens = record.output_tokens;
  sequence.prefill_tokens = record.prompt_tokens;
  if (shared_) shared_->begin(id, request, record);
  waiting_.push_back(id);
  ++outstanding_;
  sequence.since = simulation_.now();
  observe(SequenceEvent::queued, sequence);
  stats_.peak_waiting = std::max(stats_.peak_waiting, queue_length());
  wake();
  return id;
}

void Instance::wake() {
  // A host with steps under way waits for the first of them to end.
  if (down_ || decide_at_ || !under_way_.empty()) return;
  decide_at_ = simulation_.now();
  wait_for(*decide_at_, Phase::decision);
}

void Instance::wait_for(TimePoint when, Phase phase) {
  event_ = simulation_.at(when, phase, [this, phase] {
    event_.reset();
    if (phase == Phase::completion)
      finish_step(micro_batches_[under_way_.front()]);
    else
      start_steps();
    advance();
  });
}

void Instance::advance() {
  while (decide_at_ || !under_way_.empty()) {
    // At the same instant a step ends before the next decision.
    const bool decides =
        under_way_.empty() || (decide_at_ && *decide_at_ < micro_batches_[under_way_.front()].end);
    const TimePoint when = decides ? *decide_at_ : micro_batches_[under_way_.front()].end;
    const Phase phase = decides ? Phase::decision : Phase::completion;
    if (!simulation_.try_advance(when, phase)) {
      wait_for(when, phase);
      return;
    }
    if (decides)
      start_steps();
    else
      finish_step(micro_batches_[under_way_.front()]);
  }
}

void Instance::start_steps() {
  decide_at_.reset();
  if (!aborts_.empty()) apply_aborts();
  while (!idle_.empty() && start_any()) {
    if (idle_.empty() || host_free_ == simulation_.now()) continue;
    decide_at_ = host_free_;
    return;
  }
  const bool idle = waiting_.empty() && running_count_ == 0 && swapped_.empty();
  TOKENLINE_CHECK(down_ || !under_way_.empty() || idle || !handed_over_.empty() ||
                      !reserved_.empty() || !loading_.empty(),
                  "at {} ns instance {} has {} waiting and {} running requests and no step to do",
                  simulation_.now().time_since_epoch().count(), index_, queue_length(),
                  in_batches());
}

bool Instance::start_any() {
  // Where slots are shared one batch is made of all that can run; else each has its turn.
  if (idle_.size() > 1 && config_.pipeline_slots == PipelineSlots::shared)
    std::ranges::stable_partition(
        idle_, [this](std::uint32_t i) { return micro_batches_[i].running_count > 0; });
  bool tried_empty = false;
  for (std::size_t i = 0; i < idle_.size(); ++i) {
    const std::uint32_t micro_batch = idle_[i];
    const bool empty = micro_batches_[micro_batch].running_count == 0;
    if (empty && tried_empty) continue;  // One is as good as another.
    tried_empty = tried_empty || empty;
    if (start_step(micro_batch)) {
      idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(i));
      under_way_.push_back(micro_batch);
      return true;
    }
    if (down_) return false;
  }
  return false;
}

void Instance::look_at_queue() {
  // An engine that decides ahead has looked when the step that just ended started; one that had
  // nothing to do looks at once. With a pipeline the steps under way are what it decides ahead.
  const bool ahead = config_.schedule_ahead && micro_batches_.size() == 1;
  if (!ahead || (running_count_ == 0 && visible_ == 0)) visible_ = queue_length();
  waiting_.show(static_cast<std::size_t>(visible_));
}

void Instance::set_slots() {
  const std::int64_t all = memory_.front().groups * config_.max_num_seqs;
  // What the partly prefilled sequence holds elsewhere it may take along.
  const std::int64_t others = running_elsewhere() - (partial_elsewhere() ? 1 : 0);
  const auto stages = static_cast<std::int64_t>(micro_batches_.size());
  switch (config_.pipeline_slots) {
    case PipelineSlots::shared:
      limits_.max_num_seqs = all - others;
      return;
    case PipelineSlots::split:
      limits_.max_num_seqs = std::min(std::max<std::int64_t>(1, all / stages), all - others);
      return;
    case PipelineSlots::each:
      limits_.max_num_seqs = all;
      return;
  }
}

bool Instance::start_step(std::uint32_t micro_batch) {
  deciding_ = micro_batch;
  settle_queue();
  settle_pause();
  if (!loading_.empty()) look_at_loaded();
  look_at_queue();
  set_slots();
  if (!faults_.empty()) slowdown_ = slowdown(faults_, index_, simulation_.now());
  if (!price_changes_.empty()) prices_ = &cost_at(simulation_.now(), cost_, price_changes_);
  if (speculator_) drafts_ = speculator_->drafts(simulation_.now());
  if (landing() > 0) {
    look_at_landed();
    reserve_expected();
  }
  queue_hidden_ = !swapped_.empty();
  if (queue_hidden_) swap_in();
  do {
    // Preemptions have freed slots.
    if (!landed_.empty()) look_at_landed();
    plan_.clear();
    if (visible_ == 0 && running() == 0) {
      known_ = 0;
      visible_ = queue_length();
      return false;
    }
    scheduler_->plan(*this, plan_);
    apply_plan();
    // A plan that only preempts has freed blocks for another one at the same instant, one that only
    // loads has computed nothing yet.
  } while (here().pieces.empty() && !plan_.decode &&
           (plan_.preemptions > 0 || !plan_.admissions.empty()));
  if (queue_hidden_ || (config_.preempt_by_swap && visible_ == 0))
    plan_.blocked = visible_ > 0 ? Blocked::kv_blocks : Blocked::nothing;
  TOKENLINE_CHECK((visible_ == 0) == (plan_.blocked == Blocked::nothing),
                  "at {} ns {} requests wait and the scheduler gives {} as the reason",
                  simulation_.now().time_since_epoch().count(), visible_,
                  static_cast<int>(plan_.blocked));
  known_ = visible_;
  blocked_ = plan_.blocked;
  visible_ = queue_length();
  if (here().pieces.empty() && !plan_.decode) return false;
  const Bytes asked = memory_asked();
  stats_.hbm_peak_asked = std::max(stats_.hbm_peak_asked, asked);
  if (asked > memory_.front().capacity) {
    run_out_of_memory();
    return false;
  }
  stats_.hbm_peak = std::max(stats_.hbm_peak, asked);
  price_step();
  return true;
}

void Instance::finish_step(MicroBatch& batch) {
  idle_.push_back(under_way_.front());
  under_way_.pop_front();
  const TimePoint now = simulation_.now();
  if (batch.decodes) {
    batch.last_decode = now;
    batch.gaps.decoded(now, log_.token_gaps);
    stats_.emitted_tokens += batch.decoding.size();
    stats_.decoded_tokens += batch.decoding.size();
    waiting_.decoded(idle_.back());
    batch.decoding.advance();
    if (batch.drafts > 0) accept_drafts(batch);
    for (const SequenceId id : batch.decoding.finished()) {
      Sequence& sequence = store_[id];
      batch.decoding.leave(id);
      if (sequence.measured) batch.gaps.stopped(now, sequence.class_index, true);
      end_decoding(sequence);
      complete(batch, id);
    }
  }
  deliver_prefills(batch);
  if (batch.running_count == 0) release_held(batch);
  if (!decide_at_) decide_at_ = std::max(now, host_free_);
}

void Instance::accept_drafts(MicroBatch& batch) {
  std::int64_t unused_blocks = 0;
  for (SequenceId id = batch.running.front(); id != no_sequence; id = store_[id].running.next) {
    const Sequence& sequence = store_[id];
    if (sequence.stored < sequence.prefill_tokens) continue;
    const std::int64_t stored = batch.decoding.stored(id);
    const std::int64_t left = batch.decoding.remaining(id);
    const std::int64_t before = sequence.output_tokens - left - 1;
    const std::int64_t accepted =
        std::min(left, speculator_->verify(sequence.request, sequence.class_index, before));
    batch.decoding.skip(id, accepted);
    // What was rejected is rolled back.
    unused_blocks += limits_.blocks(stored + batch.drafts) - limits_.blocks(stored + accepted);
    stats_.emitted_tokens += accepted;
    stats_.decoded_tokens += accepted;
    stats_.pass_tokens += 1 + accepted;
    waiting_.emitted(sequence, accepted);
    if (sequence.measured && accepted > 0)
      log_.token_gaps[sequence.class_index].add(Duration{}, accepted);
  }
  pool_.release(unused_blocks);
  speculator_->step_ended(simulation_.now());
}

void Instance::deliver_prefills(MicroBatch& batch) {
  for (const PrefillPiece& piece : batch.pieces) {
    Sequence& sequence = store_[piece.id];
    sequence.stored += piece.chunk.new_tokens;
    --sequence.under_way;
    if (!piece.last) continue;
    offload(piece.id, sequence.stored);
    emit_token(batch, piece.id);
  }
  batch.pieces.clear();
}

void Instance::recover() {
  down_ = false;
  const TimePoint now = simulation_.now();
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    const Sequence& sequence = store_[waiting_[i]];
    record(sequence).parts[Part::restart] += now - sequence.since;
  }
  decided_ = now;
  if (waiting_.empty() && expected_.empty()) return;
  decide_at_ = now;
  wait_for(now, Phase::decision);
}

ReplicaView Instance::view() const {
  std::int64_t queued = waiting_.tokens();
  if (partial_ != no_sequence)
    queued += store_[partial_].prefill_tokens - store_[partial_].scheduled;
  for (const Loading& loading : loading_) queued += store_[loading.id].prefill_tokens;
  return {.index = index_,
          .outstanding = outstanding_,
          .waiting = queue_length() + swapped() + loading() + landing(),
          .queued_tokens = queued,
          .used_blocks = pool_.used(),
          .block_size = limits_.block_size,
          .prefilled_tokens = stats_.prefilled_tokens,
          .prefill_time = prefill_time_};
}

InstanceStats Instance::stats() const {
  InstanceStats stats = stats_;
  stats.as_of = under_way_.empty() ? simulation_.now() : boundary_;
  if (down_) stats.down -= std::max(Duration{}, boundary_ - simulation_.now());
  stats.kv_peak_blocks = pool_.peak_used();
  stats.swap_peak_blocks = host_.peak_used();
  if (tiers_) stats.tiers = tiers_->counts();
  stats.recomputed_tokens += pool_.overwritten() * limits_.block_size;
  if (speculator_) {
    const Speculator::Counts& counts = speculator_->counts();
    stats.passes = counts.passes;
    stats.drafted_tokens = counts.drafted;
    stats.tested_tokens = counts.tested;
    stats.accepted_tokens = counts.accepted;
    stats.breaker_trips = counts.trips;
  }
  return stats;
}

}  // namespace tokenline
