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
    growth -= victim.needs_block ? 1 : 0;
    --room.running;
    if (room.partial)
      room.partial.reset();
    else
      --room.decoding;
  }
  room.free_blocks -= growth;
  if (plan.preemptions > 0) plan.blocked = Blocked::kv_blocks;
  return room;
}

void admit(const SchedulerView& view, const Room& room, std::int64_t token_budget, Prompts prompts,
           StepPlan& plan) {
  const SchedulerLimits& limits = view.limits();
  std::int64_t running = room.running;
  std::int64_t free_blocks = room.free_blocks - limits.watermark_blocks;
  for (std::int64_t i = 0; i < view.waiting(); ++i) {
    const std::int64_t wanted = view.waiting_tokens(i);
    const std::int64_t tokens =
        prompts == Prompts::in_pieces ? std::min(wanted, token_budget) : wanted;
    const std::int64_t blocks = limits.blocks(tokens);
    if (running == limits.max_num_seqs)
      plan.blocked = Blocked::sequence_slot;
    else if (tokens == 0 || tokens > token_budget)
      plan.blocked = Blocked::token_budget;
    else if (blocks > free_blocks)
      plan.blocked = Blocked::kv_blocks;
    if (plan.blocked != Blocked::nothing) return;
    plan.admissions.push_back(tokens);
    ++running;
    token_budget -= tokens;
    free_blocks -= blocks;
  }
}

}  // namespace tokenline
