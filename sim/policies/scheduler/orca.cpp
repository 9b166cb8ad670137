#include "sim/policies/policies.hpp"

namespace tokenline {
namespace {

/// Every step runs all decodes and the whole prompts of newly admitted requests together.
class Orca final : public Scheduler {
 public:
  void plan(const SchedulerView& view, StepPlan& plan) override {
    const Room room = make_room_for_decodes(view, plan);
    plan.decode = room.decoding > 0;
    if (plan.preemptions > 0) return;
    admit(view, room, view.limits().max_num_batched_tokens - decode_tokens(view, room), {}, plan);
  }
};

}  // namespace

void register_scheduler_orca(Policies& policies) {
  policies.scheduler.add(
      "orca", {.summary = "Continuous batching; whole prompts join the step of the decodes.",
               .source = "Orca, OSDI'22, iteration-level scheduling with selective batching",
               .make = [] { return std::make_unique<Orca>(); }});
}

}  // namespace tokenline
