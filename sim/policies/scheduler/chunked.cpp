#include "sim/policies/policies.hpp"

namespace tokenline {
namespace {

/// Every step runs all decodes, then fills its token budget with pieces of prompts.
class Chunked final : public Scheduler {
 public:
  void plan(const SchedulerView& view, StepPlan& plan) override {
    Room room = make_room_for_decodes(view, plan);
    std::int64_t budget = view.limits().max_num_batched_tokens - decode_tokens(view, room);
    continue_partial(view, room, budget, plan);
    plan.decode = room.decoding > 0;
    if (plan.blocked != Blocked::nothing) return;
    admit(view, room, budget, {.in_pieces = true}, plan);
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
