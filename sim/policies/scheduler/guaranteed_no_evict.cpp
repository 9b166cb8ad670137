#include "sim/policies/policies.hpp"

namespace tokenline {
namespace {

/// Every step runs all decodes and the whole prompts of newly admitted requests; a request is
/// admitted when the pool can hold it and everything running to the end, so nothing is preempted.
class GuaranteedNoEvict final : public Scheduler {
 public:
  void plan(const SchedulerView& view, StepPlan& plan) override {
    Room room = make_room_for_decodes(view, plan);
    plan.decode = room.decoding > 0;
    if (plan.preemptions > 0) return;
    room.free_blocks = view.free_blocks() - view.blocks_to_come();
    admit(view, room, view.limits().max_num_batched_tokens - decode_tokens(view, room),
          {.to_the_end = true}, plan);
  }
};

}  // namespace

void register_scheduler_guaranteed_no_evict(Policies& policies) {
  policies.scheduler.add(
      "guaranteed_no_evict",
      {.summary = "Continuous batching; whole prompts join the step of the decodes, and a request "
                  "is admitted when KV blocks for its whole answer are free: no preemption.",
       .source = "TensorRT-LLM 1.0 GuaranteedNoEvictScheduler and MicroBatchScheduler without "
                 "chunked context (cpp/tensorrt_llm/batch_manager)",
       .make = [] { return std::make_unique<GuaranteedNoEvict>(); }});
}

}  // namespace tokenline
