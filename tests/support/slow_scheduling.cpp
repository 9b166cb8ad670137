#include <algorithm>

#include "sim/base/check.hpp"
#include "tests/support/slow_replica.hpp"

namespace tokenline::test {

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
  if (!waiting_.empty()) step.blocked = Blocked::sequence_slot;
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

/// Takes requests from the head of the queue while slots, budget and blocks last.
void SlowReplica::admit(std::int64_t budget, bool in_part, SlowStep& step) {
  while (!waiting_.empty()) {
    const SlowSequencePtr next = waiting_.front();
    if (static_cast<std::int64_t>(running_.size()) == limits_.max_num_seqs) {
      step.blocked = Blocked::sequence_slot;
      return;
    }
    const std::int64_t tokens = in_part ? std::min(next->prefill, budget) : next->prefill;
    if (tokens == 0 || tokens > budget) {
      step.blocked = Blocked::token_budget;
      return;
    }
    if (!pool_.append(next->request, tokens, limits_.watermark_blocks)) {
      step.blocked = Blocked::kv_blocks;
      return;
    }
    budget -= tokens;
    next->preempted = false;
    waiting_.pop_front();
    running_.push_back(next);
    step.pieces.push_back({next, tokens});
  }
}

}  // namespace tokenline::test
