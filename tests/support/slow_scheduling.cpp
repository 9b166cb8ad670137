#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"
#include "tests/support/slow_replica.hpp"

namespace tokenline::test {
namespace {

/// SGLang's new_token_ratio after decode steps: from 0.7 in 600 equal steps to 0.7 · 0.14.
double new_token_ratio(int decodes) {
  double ratio = 0.7;
  const double last = 0.14 * 0.7;
  for (int i = 0; i < decodes; ++i) ratio = std::max(last, ratio - (0.7 - last) / 600.0);
  return ratio;
}

}  // namespace

SlowStep SlowReplica::schedule() {
  const std::string& scheduler = world_.scenario.engine.scheduler;
  SlowStep step;
  if (scheduler == "static")
    schedule_static(step);
  else if (scheduler == "prefill_first")
    schedule_prefill_first(step);
  else if (scheduler == "orca")
    schedule_orca(step);
  else if (scheduler == "chunked")
    schedule_chunked(step);
  else if (scheduler == "guaranteed_no_evict")
    schedule_guaranteed_no_evict(step);
  else if (scheduler == "prefill_first_chunked")
    schedule_prefill_first_chunked(step);
  else
    TOKENLINE_CHECK(false, "the slow engine knows no scheduler '{}'", scheduler);
  return step;
}

/// Request-level batching: a new batch only when nothing runs.
void SlowReplica::schedule_static(SlowStep& step) {
  if (running_.empty()) {
    admit(limits_.max_num_batched_tokens, false, step);
    return;
  }
  std::int64_t budget = limits_.max_num_batched_tokens;
  walk_running(budget, step);
  if (!waiting_.empty() && waiting_.front()->seen) step.blocked = Blocked::sequence_slot;
}

/// vLLM V0, Scheduler._schedule_default: prefills if any, otherwise decodes.
void SlowReplica::schedule_prefill_first(SlowStep& step) {
  admit(limits_.max_num_batched_tokens, false, step);
  if (!step.pieces.empty()) return;
  std::int64_t budget = limits_.max_num_batched_tokens;
  walk_running(budget, step);
  if (step.preemptions > 0) step.blocked = Blocked::kv_blocks;  // the victim is the head now
}

/// Decodes and whole prompts in one step.
void SlowReplica::schedule_orca(SlowStep& step) {
  std::int64_t budget = limits_.max_num_batched_tokens;
  walk_running(budget, step);
  if (step.preemptions == 0)
    admit(budget, false, step);
  else
    step.blocked = Blocked::kv_blocks;
}

/// vLLM V1, Scheduler.schedule: running requests first, then waiting ones, under one budget.
void SlowReplica::schedule_chunked(SlowStep& step) {
  std::int64_t budget = limits_.max_num_batched_tokens;
  walk_running(budget, step);
  if (step.preemptions == 0)
    admit(budget, true, step);
  else
    step.blocked = Blocked::kv_blocks;
}

/// Blocks that the running sequences lack to hold the share `share` of what is still to come.
std::int64_t SlowReplica::promised(double share) const {
  std::int64_t lacking = 0;
  for (const auto& sequence : running_)
    lacking +=
        limits_.blocks(sequence->prompt + sequence->output) - limits_.blocks(sequence->stored);
  return static_cast<std::int64_t>(std::ceil(share * static_cast<double>(lacking)));
}

/// TensorRT-LLM, GuaranteedNoEvictScheduler: what runs may run to its end.
void SlowReplica::schedule_guaranteed_no_evict(SlowStep& step) {
  const std::int64_t room = pool_.free() - promised(1.0);
  std::int64_t budget = limits_.max_num_batched_tokens;
  walk_running(budget, step);
  admit(budget, false, step, room);
}

/// SGLang, get_next_batch_to_run: a batch of prompts if there can be one, otherwise decodes.
void SlowReplica::schedule_prefill_first_chunked(SlowStep& step) {
  if (running_.empty()) decodes_since_calm_ = 0;
  const double ratio = new_token_ratio(decodes_since_calm_);
  std::int64_t budget = limits_.max_num_batched_tokens;
  const std::int64_t lacking = promised(ratio);
  if (!running_.empty() && running_.back()->prefilling()) {
    const SlowSequencePtr partial = running_.back();
    const std::int64_t wanted = std::min(partial->prefill - partial->stored, budget);
    if (!pool_.append(partial->request, wanted)) {
      preempt_last(step);
      step.blocked = Blocked::kv_blocks;
      return;
    }
    step.pieces.push_back({partial, wanted});
    budget -= wanted;
  }
  admit(budget, true, step, pool_.free() - lacking);
  if (!step.pieces.empty()) return;
  walk_running(budget, step);
  ++decodes_since_calm_;
  if (step.preemptions == 0) return;
  decodes_since_calm_ = 0;
  step.blocked = Blocked::kv_blocks;
}

/// Every running sequence in order of admission takes its next tokens and the blocks for them; for
/// a missing block the last admitted one is preempted, possibly the asking one itself.
void SlowReplica::walk_running(std::int64_t& budget, SlowStep& step) {
  for (std::size_t i = 0; i < running_.size(); ++i) {
    const SlowSequencePtr sequence = running_[i];
    if (sequence->finished()) continue;
    const std::int64_t wanted =
        sequence->prefilling() ? std::min(sequence->prefill - sequence->stored, budget) : 1;
    if (wanted == 0) continue;
    bool scheduled = true;
    while (scheduled && !pool_.append(sequence->request, wanted))
      scheduled = preempt_last(step) != sequence;
    if (!scheduled) break;
    budget -= wanted;
    if (sequence->prefilling())
      step.pieces.push_back({sequence, wanted});
    else
      step.decodes.push_back(sequence);
  }
  for (const auto& sequence : running_)
    if (sequence->finished()) step.held.push_back(sequence);
}

/// The sequence admitted last, held rows apart, gives up its blocks and returns to the queue.
SlowSequencePtr SlowReplica::preempt_last(SlowStep& step) {
  const auto last = std::find_if(running_.rbegin(), running_.rend(),
                                 [](const auto& sequence) { return !sequence->finished(); });
  const SlowSequencePtr victim = *last;
  running_.erase(std::next(last).base());
  pool_.release(victim->request);
  RequestRecord& record = world_.run.records[victim->request];
  ++record.preemptions;
  record.recomputed_tokens += victim->stored;
  victim->thrown_away = std::max(victim->thrown_away, victim->stored);
  victim->stored = 0;
  victim->prefill = victim->prompt + victim->emitted;
  victim->preempted = true;
  waiting_.push_front(victim);
  ++step.preemptions;
  ++world_.run.counts.preemptions;
  return victim;
}

/// A preempted sequence gets back the first `tokens` tokens that it had stored.
void SlowReplica::find_again(SlowSequence& sequence, std::int64_t tokens) {
  pool_.take_back(sequence.request);
  sequence.stored = tokens;
  world_.run.records[sequence.request].recomputed_tokens -= tokens;
  ++world_.run.counts.found_again;
  if (tokens < sequence.thrown_away / limits_.block_size * limits_.block_size)
    ++world_.run.counts.found_in_part;
}

/// Takes requests from the head of the queue while slots, budget and blocks last: those of this
/// step, or, out of `room_to_the_end`, those of the whole answer.
void SlowReplica::admit(std::int64_t budget, bool in_part, SlowStep& step,
                        std::optional<std::int64_t> room_to_the_end) {
  while (!waiting_.empty() && waiting_.front()->seen) {
    const SlowSequencePtr next = waiting_.front();
    if (static_cast<std::int64_t>(running_.size()) == limits_.max_num_seqs) {
      step.blocked = Blocked::sequence_slot;
      return;
    }
    const bool reuses = world_.scenario.engine.enable_prefix_caching && next->preempted;
    const std::int64_t found = reuses ? pool_.found(next->request) : 0;
    const std::int64_t missing = next->prefill - found;
    const std::int64_t tokens = in_part ? std::min(missing, budget) : missing;
    if (tokens == 0 || tokens > budget) {
      step.blocked = Blocked::token_budget;
      return;
    }
    const std::int64_t to_the_end = limits_.blocks(next->prompt + next->output);
    const std::int64_t room = (room_to_the_end ? *room_to_the_end : pool_.free());
    const std::int64_t wanted = room_to_the_end ? to_the_end : limits_.blocks(found + tokens);
    if (wanted > room - limits_.watermark_blocks) {
      step.blocked = Blocked::kv_blocks;
      return;
    }
    if (found > 0) find_again(*next, found);
    TOKENLINE_CHECK(pool_.append(next->request, tokens), "blocks that were free are not");
    if (room_to_the_end) *room_to_the_end -= to_the_end;
    budget -= tokens;
    if (!next->preempted) ++step.newcomers;
    next->preempted = false;
    waiting_.pop_front();
    running_.push_back(next);
    step.pieces.push_back({next, tokens});
  }
}

}  // namespace tokenline::test
