#include <algorithm>

#include "sim/policies/scheduler/scheduler.hpp"

namespace tokenline {

Room make_room_for_decodes(const SchedulerView& view, StepPlan& plan) {
  Room room{.running = view.running(),
            .decoding = view.decoding(),
            .free_blocks = view.free_blocks(),
            .partial = view.partial()};
  std::int64_t growth = view.decode_growth();
  while (growth > room.free_blocks) {
    const RunningView victim = view.running_from_back(plan.preemptions++);
    room.free_blocks += victim.blocks;
    growth -= victim.growth;
    --room.running;
    if (room.partial && !room.partial->under_way)
      room.partial.reset();
    else
      --room.decoding;
  }
  room.free_blocks -= growth;
  room.taken += growth;
  if (plan.preemptions > 0) plan.blocked = Blocked::kv_blocks;
  return room;
}

void continue_partial(const SchedulerView& view, Room& room, std::int64_t& token_budget,
                      StepPlan& plan) {
  if (!room.partial) return;
  const SchedulerLimits& limits = view.limits();
  const PartialPrefill& partial = *room.partial;
  const std::int64_t tokens = std::min(partial.remaining, token_budget);
  const std::int64_t blocks = limits.blocks(partial.done + tokens) - limits.blocks(partial.done);
  if (blocks > room.free_blocks) {
    if (!partial.under_way) ++plan.preemptions;
    if (plan.preemptions > 0 || view.waiting() > 0) plan.blocked = Blocked::kv_blocks;
    return;
  }
  plan.partial_tokens = tokens;
  room.free_blocks -= blocks;
  room.taken += blocks;
  token_budget -= tokens;
}

void admit(const SchedulerView& view, const Room& room, std::int64_t token_budget,
           Admission admission, StepPlan& plan) {
  const SchedulerLimits& limits = view.limits();
  std::int64_t running = room.running;
  std::int64_t free_blocks = room.free_blocks - limits.watermark_blocks;
  std::int64_t taken = room.taken;
  for (std::int64_t i = 0; i < view.waiting(); ++i) {
    if (running == limits.max_num_seqs)
      plan.blocked = Blocked::sequence_slot;
    else if (token_budget == 0)
      plan.blocked = Blocked::token_budget;
    if (plan.blocked != Blocked::nothing) return;
    const std::int64_t cached = view.waiting_cached_tokens(i, taken);
    const bool loads = view.waiting_external_tokens(i) > 0;
    const std::int64_t wanted = loads ? 0 : view.waiting_tokens(i) - cached;
    const std::int64_t tokens = admission.in_pieces ? std::min(wanted, token_budget) : wanted;
    const bool has_blocks = view.waiting_has_blocks(i);
    const std::int64_t now = loads ? view.waiting_tokens(i) : cached + tokens;
    const std::int64_t blocks =
        has_blocks ? 0
                   : limits.blocks(admission.to_the_end ? view.waiting_final_tokens(i) : now) -
                         view.waiting_held_blocks(i);
    if (tokens > token_budget)
      plan.blocked = Blocked::token_budget;
    else if (!has_blocks && blocks > free_blocks)
      plan.blocked = Blocked::kv_blocks;
    if (plan.blocked != Blocked::nothing) return;
    plan.admissions.push_back(tokens);
    if (!has_blocks) taken += limits.blocks(now) - limits.blocks(cached);
    free_blocks -= blocks;
    token_budget -= tokens;
    running += loads ? 0 : 1;
  }
}

}  // namespace tokenline
