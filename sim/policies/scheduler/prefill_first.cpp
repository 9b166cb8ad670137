#include "sim/policies/policies.hpp"

namespace tokenline {
namespace {

/// A step either prefills whole prompts or decodes; waiting prompts always go first.
class PrefillFirst final : public Scheduler {
 public:
  void plan(const SchedulerView& view, StepPlan& plan) override {
    const Room room{.running = view.running(),
                    .decoding = view.decoding(),
                    .free_blocks = view.free_blocks(),
                    .partial = {}};
    admit(view, room, view.limits().max_num_batched_tokens, {}, plan);
    if (!plan.admissions.empty()) return;
    plan.decode = make_room_for_decodes(view, plan).decoding > 0;
  }
};

}  // namespace

void register_scheduler_prefill_first(Policies& policies) {
  policies.scheduler.add(
      "prefill_first",
      {.summary = "Continuous batching; waiting prompts are prefilled whole before any decode, in "
                  "steps of their own.",
       .source = "vLLM v0.6 Scheduler._schedule_default (PagedAttention, SOSP'23)",
       .make = [] { return std::make_unique<PrefillFirst>(); }});
}

}  // namespace tokenline
