#include "sim/policies/policies.hpp"

namespace tokenline {
namespace {

/// A batch is formed from what waits and runs until its longest answer ends.
class Static final : public Scheduler {
 public:
  void plan(const SchedulerView& view, StepPlan& plan) override {
    if (view.running() == 0) {
      const Room room{
          .running = 0, .decoding = 0, .free_blocks = view.free_blocks(), .partial = {}};
      admit(view, room, view.limits().max_num_batched_tokens, {}, plan);
      return;
    }
    plan.decode = make_room_for_decodes(view, plan).decoding > 0;
    if (view.waiting() > 0 || plan.preemptions > 0) plan.blocked = Blocked::sequence_slot;
  }

  [[nodiscard]] bool holds_finished() const override { return true; }
};

}  // namespace

void register_scheduler_static(Policies& policies) {
  policies.scheduler.add(
      "static", {.summary = "A batch is formed when the last one has ended; finished rows are "
                            "computed on as padding until the longest answer ends.",
                 .source = "FasterTransformer's request-level batching (the baseline of Orca, "
                           "OSDI'22); prompts are not padded to equal length",
                 .make = [] { return std::make_unique<Static>(); }});
}

}  // namespace tokenline
