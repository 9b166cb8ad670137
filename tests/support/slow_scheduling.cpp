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
  const SlowSequencePtr partial = find_partial();
  SlowBatch* home = partial ? bring_partial_here(partial) : nullptr;
  SlowStep step;
  if (speculator_) step.drafts = speculator_->drafts(world_.events.now());
  schedule_here(step);
  std::vector<SlowSequencePtr>& here = batches_[here_].running;
  const bool stays = partial && std::ranges::none_of(step.pieces, [&](const auto& piece) {
                       return piece.sequence == partial;
                     });
  if (home != nullptr && stays && std::erase(here, partial) > 0) home->running.push_back(partial);
  if (const SlowSequencePtr left = find_partial(); left && !left->under_way()) left->starved = true;
  return step;
}

void SlowReplica::schedule_here(SlowStep& step) {
  const std::string& scheduler = world_.scenario.engine.scheduler;
  if (!swapped_.empty())
    schedule_swapped(step);
  else if (scheduler == "static")
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
  for (const auto& sequence : step.trimmed) pool_.truncate(sequence->came, sequence->scheduled);
}

/// The one sequence whose prompt is not wholly scheduled.
SlowSequencePtr SlowReplica::find_partial() const {
  for (const SlowBatch& batch : batches_)
    for (const auto& sequence : batch.running)
      if (sequence->partial()) return sequence;
  return nullptr;
}

/// Slots of the batch decided about.
std::int64_t SlowReplica::slots() const {
  const auto count = static_cast<std::int64_t>(batches_.size());
  switch (world_.scenario.engine.pipeline_slots) {
    case PipelineSlots::each:
      return limits_.max_num_seqs;
    case PipelineSlots::split:
    case PipelineSlots::shared:
      break;
  }
  std::int64_t free = limits_.max_num_seqs;
  for (const SlowBatch& batch : batches_)
    if (&batch != &batches_[here_]) free -= static_cast<std::int64_t>(batch.running.size());
  if (world_.scenario.engine.pipeline_slots == PipelineSlots::shared) return free;
  return std::min(free, std::max<std::int64_t>(1, limits_.max_num_seqs / count));
}

/// A prompt under computation goes on in whichever batch is next, if that has a slot for it: it is
/// there while that is decided, and is the one that is preempted first. Returns where it came from.
SlowBatch* SlowReplica::bring_partial_here(const SlowSequencePtr& partial) {
  const auto home = std::ranges::find_if(batches_, [&](const SlowBatch& batch) {
    return std::ranges::find(batch.running, partial) != batch.running.end();
  });
  SlowBatch& here = batches_[here_];
  if (&*home == &here) return nullptr;
  std::erase(home->running, partial);  // It brings its own slot along.
  if (static_cast<std::int64_t>(here.running.size()) >= slots()) {
    home->running.push_back(partial);
    return nullptr;
  }
  here.running.push_back(partial);
  return &*home;
}

/// vLLM V0 with sequences in host memory: no prompts; decodes, and if none of those had to make
/// room, as many as fit come back, the first one out first.
void SlowReplica::schedule_swapped(SlowStep& step) {
  step.blocked = Blocked::kv_blocks;
  walk_decodes(step);
  if (step.preemptions > 0) return;
  std::vector<SlowSequencePtr>& running = batches_[here_].running;
  while (!swapped_.empty() && static_cast<std::int64_t>(running.size()) < slots()) {
    const SlowSequencePtr next = swapped_.front();
    const std::int64_t wanted = limits_.blocks(next->stored + 1 + step.drafts);
    if (wanted > pool_.free() - limits_.watermark_blocks) return;
    TOKENLINE_CHECK(pool_.append(next->came, next->stored + 1 + step.drafts),
                    "blocks that were free are not");
    step.copied_in += limits_.blocks(next->stored);
    host_used_ -= limits_.blocks(next->stored);
    swapped_.pop_front();
    next->order = admissions_++;
    running.push_back(next);
    step.decodes.push_back(next);
    ++world_.run.counts.swapped_in;
  }
}

/// Request-level batching: a new batch only when nothing runs.
void SlowReplica::schedule_static(SlowStep& step) {
  if (batches_[here_].running.empty()) {
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
  if (!step.pieces.empty() || step.loads > 0) return;
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
  if (step.preemptions > 0)
    step.blocked = Blocked::kv_blocks;
  else if (step.blocked == Blocked::nothing)
    admit(budget, true, step);
}

/// Blocks that the running sequences lack to hold the share `share` of what is still to come.
std::int64_t SlowReplica::promised(double share) const {
  std::int64_t lacking = 0;
  for (const SlowBatch& batch : batches_)
    for (const auto& sequence : batch.running)
      if (!sequence->finished())
        lacking += limits_.blocks(sequence->prompt + sequence->output + ahead_) -
                   pool_.table_size(sequence->came);
  // Those that load, or have loaded, hold blocks and will run.
  std::vector<SlowSequencePtr> soon = loading_;
  for (const auto& sequence : waiting_)
    if (sequence->loaded) soon.push_back(sequence);
  for (const auto& sequence : soon)
    lacking += limits_.blocks(sequence->prompt + sequence->output + ahead_) -
               pool_.table_size(sequence->came);
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
  if (nothing_runs()) decodes_since_calm_ = 0;
  const std::vector<SlowSequencePtr>& running = batches_[here_].running;
  const double ratio = new_token_ratio(decodes_since_calm_);
  std::int64_t budget = limits_.max_num_batched_tokens;
  const std::int64_t lacking = promised(ratio);
  if (!running.empty() && running.back()->partial()) {
    const SlowSequencePtr partial = running.back();
    const std::int64_t wanted = std::min(partial->prefill - partial->scheduled, budget);
    if (pool_.append(partial->came, wanted)) {
      take(partial, wanted, step);
      budget -= wanted;
    } else if (!partial->under_way()) {
      preempt_last(step);
      step.blocked = Blocked::kv_blocks;
      return;
    } else if (!waiting_.empty()) {
      step.blocked = Blocked::kv_blocks;
    }
  }
  if (step.blocked == Blocked::nothing) admit(budget, true, step, pool_.free() - lacking);
  if (!step.pieces.empty() || step.loads > 0) return;
  const Blocked queue = step.blocked;
  walk_decodes(step);
  step.blocked = queue;
  if (step.decodes.empty() && step.preemptions == 0) return;
  ++decodes_since_calm_;
  if (step.preemptions == 0) return;
  decodes_since_calm_ = 0;
  step.blocked = Blocked::kv_blocks;
}

/// Every running sequence in order of admission takes its next tokens and the blocks for them; for
/// a missing block the last admitted one is preempted, possibly the asking one itself.
void SlowReplica::walk_running(std::int64_t& budget, SlowStep& step) {
  const std::int64_t before = static_cast<std::int64_t>(step.decodes.size());
  walk_decodes(step);
  budget -= (static_cast<std::int64_t>(step.decodes.size()) - before) * (1 + step.drafts);
  const std::vector<SlowSequencePtr>& running = batches_[here_].running;
  if (running.empty() || !running.back()->partial()) return;
  const SlowSequencePtr partial = running.back();
  const std::int64_t wanted = std::min(partial->prefill - partial->scheduled, budget);
  if (wanted == 0) return;
  if (pool_.append(partial->came, wanted)) {
    take(partial, wanted, step);
    budget -= wanted;
  } else if (!partial->under_way()) {
    preempt_last(step);
  } else if (!waiting_.empty()) {
    step.blocked = Blocked::kv_blocks;
  }
}

void SlowReplica::walk_decodes(SlowStep& step) {
  std::vector<SlowSequencePtr>& running = batches_[here_].running;
  for (std::size_t i = 0; i < running.size(); ++i) {
    const SlowSequencePtr sequence = running[i];
    if (sequence->finished() || sequence->prefilling()) continue;
    bool scheduled = true;
    while (scheduled && !pool_.append(sequence->came, 1 + step.drafts))
      scheduled = preempt_last(step) != sequence;
    if (!scheduled) break;
    step.decodes.push_back(sequence);
  }
  for (const auto& sequence : running)
    if (sequence->finished()) step.held.push_back(sequence);
}

/// A piece of the sequence's prompt, whose blocks it has.
void SlowReplica::take(const SlowSequencePtr& sequence, std::int64_t tokens, SlowStep& step) {
  charge_gap(*sequence);
  const std::int64_t past = sequence->scheduled;
  sequence->scheduled += tokens;
  sequence->starved = false;
  step.pieces.push_back({.sequence = sequence,
                         .tokens = tokens,
                         .past = past,
                         .last = sequence->scheduled == sequence->prefill});
}

/// The sequence admitted last, held rows and a prompt under way apart, gives up its blocks and
/// returns to the queue.
SlowSequencePtr SlowReplica::preempt_last(SlowStep& step) {
  std::vector<SlowSequencePtr>& running = batches_[here_].running;
  const auto last = std::find_if(running.rbegin(), running.rend(), [](const auto& sequence) {
    return !sequence->finished() && !sequence->under_way();
  });
  const SlowSequencePtr victim = *last;
  running.erase(std::next(last).base());
  if (victim->partial()) charge_gap(*victim);
  keep(*victim);
  pool_.release(victim->came);
  ++step.preemptions;
  ++world_.run.counts.preemptions;
  if (!victim->abandoned) ++world_.run.records[victim->request].preemptions;
  if (world_.scenario.engine.preempt_by_swap) {
    const std::int64_t blocks = limits_.blocks(victim->stored);
    if (host_used_ + blocks <= world_.scenario.host.swap_blocks) {
      host_used_ += blocks;
      step.copied_out += blocks;
      swapped_.push_back(victim);
      return victim;
    }
    ++world_.run.counts.no_swap_space;
  }
  if (!victim->abandoned) world_.run.records[victim->request].recomputed_tokens += victim->stored;
  victim->thrown_away = std::max(victim->thrown_away, victim->stored);
  victim->given_up = victim->stored;
  victim->stored = 0;
  victim->scheduled = 0;
  victim->prefill = victim->prompt + victim->emitted;
  victim->preempted = true;
  put_first(victim);
  return victim;
}

/// A sequence that is admitted, or begins to load, gets blocks that hold what it begins with.
void SlowReplica::find_again(SlowSequence& sequence, const std::vector<std::int64_t>& blocks) {
  world_.run.counts.shared +=
      !sequence.preempted && pool_.count_free(blocks) < std::ssize(blocks) ? 1 : 0;
  pool_.share(sequence.came, blocks);
  sequence.found = static_cast<std::int64_t>(blocks.size()) * limits_.block_size;
}

/// It runs, with what it found in the pool and loaded.
void SlowReplica::begin_prefill(const SlowSequencePtr& next, std::int64_t tokens, SlowStep& step) {
  SlowCounts& counts = world_.run.counts;
  const std::int64_t found = next->found;
  next->stored = found;
  next->scheduled = found;
  if (!next->preempted) {
    if (!next->abandoned) world_.run.cached_tokens[next->request] = found;
    counts.given += found > 0 ? 1 : 0;
    const bool again = world_.run.records[next->request].retries > 0;
    counts.given_again += again && !next->abandoned && found > 0 ? 1 : 0;
    ++step.newcomers;
    if (!next->loaded) leave_queue(*next);
  } else {
    // What others have stored beyond it was never computed here.
    if (!next->abandoned)
      world_.run.records[next->request].recomputed_tokens -= std::min(found, next->given_up);
    counts.found_again += found > 0 ? 1 : 0;
    const std::int64_t whole = next->given_up / limits_.block_size * limits_.block_size;
    counts.found_in_part += found > 0 && found < whole ? 1 : 0;
  }
  counts.loaded += next->loaded ? 1 : 0;
  counts.loaded_again += next->loaded && next->preempted ? 1 : 0;
  TOKENLINE_CHECK(pool_.append(next->came, tokens), "blocks that were free are not");
  if (next->loaded) step.trimmed.push_back(next);
  next->loaded = false;
  next->preempted = false;
  next->order = admissions_++;
  next->accounted = world_.events.now();
  waiting_.pop_front();
  batches_[here_].running.push_back(next);
  take(next, tokens, step);
}

/// Takes requests from the head of the queue while slots, budget and blocks last: those of this
/// step, or, out of `room_to_the_end`, those of the whole answer.
void SlowReplica::admit(std::int64_t budget, bool in_part, SlowStep& step,
                        std::optional<std::int64_t> room_to_the_end) {
  while (!waiting_.empty() && waiting_.front()->seen) {
    const SlowSequencePtr next = waiting_.front();
    if (static_cast<std::int64_t>(batches_[here_].running.size()) == slots()) {
      step.blocked = Blocked::sequence_slot;
      return;
    }
    if (budget == 0) {
      step.blocked = Blocked::token_budget;
      return;
    }
    if (next->loaded) {
      const std::int64_t missing = next->prefill - next->found;
      const std::int64_t tokens = in_part ? std::min(missing, budget) : missing;
      if (tokens > budget) {
        step.blocked = Blocked::token_budget;
        return;
      }
      budget -= tokens;
      begin_prefill(next, tokens, step);
      continue;
    }
    const std::vector<std::int64_t> blocks = pool_.find(next->came, next->prefill);
    const SlowTiers::Names further = find_further(*next, std::ssize(blocks));
    const std::int64_t in_use = std::ssize(blocks) - pool_.count_free(blocks);
    const std::int64_t found = std::ssize(blocks) * limits_.block_size;
    const std::int64_t missing = further.empty() ? next->prefill - found : 0;
    const std::int64_t tokens = in_part ? std::min(missing, budget) : missing;
    if (tokens > budget) {
      step.blocked = Blocked::token_budget;
      return;
    }
    const std::int64_t to_the_end = limits_.blocks(next->prompt + next->output + ahead_);
    const std::int64_t now = limits_.blocks(further.empty() ? found + tokens : next->prefill);
    const std::int64_t room = (room_to_the_end ? *room_to_the_end : pool_.free());
    const std::int64_t wanted = room_to_the_end ? to_the_end : now;
    if (wanted - in_use > room - limits_.watermark_blocks) {
      step.blocked = Blocked::kv_blocks;
      return;
    }
    find_again(*next, blocks);
    if (room_to_the_end) *room_to_the_end -= to_the_end - in_use;
    budget -= tokens;
    if (further.empty())
      begin_prefill(next, tokens, step);
    else
      begin_load(next, further, step);
  }
}

}  // namespace tokenline::test
