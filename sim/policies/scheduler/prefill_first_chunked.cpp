#include <algorithm>
#include <cmath>

#include "sim/policies/policies.hpp"

namespace tokenline {
namespace {

/// Share of the answers still to come that admissions leave room for, at first and at last, and the
/// decode steps from the one to the other (sglang/srt/environ.py: SGLANG_INIT_NEW_TOKEN_RATIO,
/// SGLANG_MIN_NEW_TOKEN_RATIO_FACTOR, SGLANG_NEW_TOKEN_RATIO_DECAY_STEPS).
constexpr double first_ratio = 0.7;
constexpr double last_ratio = 0.14 * first_ratio;
constexpr double ratio_step = (first_ratio - last_ratio) / 600.0;

/// A step holds pieces of prompts or decodes, never both, and prompts go first. A request is
/// admitted when the pool can hold its whole answer beside a share of those under way.
class PrefillFirstChunked final : public Scheduler {
 public:
  void plan(const SchedulerView& view, StepPlan& plan) override {
    if (view.running() + view.running_elsewhere() == 0) ratio_ = first_ratio;
    prefill(view, plan);
    if (plan.partial_tokens > 0 || !plan.admissions.empty() || plan.preemptions > 0) return;
    plan.decode = make_room_for_decodes(view, plan).decoding > 0;
    if (!plan.decode && plan.preemptions == 0) return;  // an empty micro-batch
    ratio_ = plan.preemptions > 0 ? first_ratio : std::max(last_ratio, ratio_ - ratio_step);
  }

 private:
  void prefill(const SchedulerView& view, StepPlan& plan) const {
    Room room{.running = view.running(),
              .decoding = view.decoding(),
              .free_blocks = view.free_blocks(),
              .partial = view.partial()};
    std::int64_t budget = view.limits().max_num_batched_tokens;
    continue_partial(view, room, budget, plan);
    if (plan.blocked != Blocked::nothing) return;
    room.free_blocks -=
        static_cast<std::int64_t>(std::ceil(ratio_ * static_cast<double>(view.blocks_to_come())));
    admit(view, room, budget, {.in_pieces = true, .to_the_end = true}, plan);
  }

  double ratio_ = first_ratio;
};

}  // namespace

void register_scheduler_prefill_first_chunked(Policies& policies) {
  policies.scheduler.add(
      "prefill_first_chunked",
      {.summary = "Continuous batching; pieces of waiting prompts go before any decode, in steps "
                  "of their own, and a request is admitted when its whole answer fits beside a "
                  "share of those under way.",
       .source = "SGLang 0.5 Scheduler.get_next_batch_to_run and PrefillAdder without "
                 "--enable-mixed-chunk (sglang/srt/managers/schedule_policy.py)",
       .make = [] { return std::make_unique<PrefillFirstChunked>(); }});
}

}  // namespace tokenline
