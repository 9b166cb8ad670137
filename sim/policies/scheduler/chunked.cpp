#include <algorithm>

#include "sim/policies/policies.hpp"

namespace tokenline {
namespace {

/// Every step runs all decodes, then fills its token budget with pieces of prompts.
class Chunked final : public Scheduler {
 public:
  void plan(const SchedulerView& view, StepPlan& plan) override {
    Room room = make_room_for_decodes(view, plan);
    std::int64_t budget = view.limits().max_num_batched_tokens - room.decoding;
    if (room.partial) continue_partial(view.limits(), *room.partial, room, budget, plan);
    plan.decode = room.decoding > 0;
    if (plan.preemptions > 0) return;
    admit(view, room, budget, Prompts::in_pieces, plan);
  }

 private:
  /// Gives the partial prefill what is left of the budget. When the pool cannot hold it, the
  /// sequence itself is preempted: it is the last of the running list.
  static void continue_partial(const SchedulerLimits& limits, const PartialPrefill& partial,
                               Room& room, std::int64_t& budget, StepPlan& plan) {
    const std::int64_t tokens = std::min(partial.remaining, budget);
    const std::int64_t blocks = limits.blocks(partial.done + tokens) - limits.blocks(partial.done);
    if (blocks > room.free_blocks) {
      ++plan.preemptions;
      plan.blocked = Blocked::kv_blocks;
      return;
    }
    plan.partial_tokens = tokens;
    room.free_blocks -= blocks;
    budget -= tokens;
  }
};

}  // namespace

void register_scheduler_chunked(Policies& policies) {
  policies.scheduler.add(
      "chunked", {.summary = "Continuous batching with chunked prefill: all decodes first, then "
                             "pieces of prompts up to max_num_batched_tokens.",
                  .source = "vLLM V1 Scheduler.schedule (v0.8 and later); Sarathi-Serve, OSDI'24",
                  .make = [] { return std::make_unique<Chunked>(); }});
}

}  // namespace tokenline
