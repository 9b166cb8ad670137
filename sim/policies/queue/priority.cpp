#include <utility>

#include "sim/policies/policies.hpp"
#include "sim/policies/queue/ranked_queue.hpp"

namespace tokenline {
namespace {

class Priority final : public RankedQueue<std::int64_t> {
 public:
  explicit Priority(std::vector<QueueClass> classes) : classes_(std::move(classes)) {}

 private:
  [[nodiscard]] std::int64_t rank(const QueuedRequest& request) const override {
    return classes_[request.class_index].priority;
  }

  std::vector<QueueClass> classes_;
};

}  // namespace

void register_queue_priority(Policies& policies) {
  policies.queue.add(
      "priority",
      {.summary = "The class with the smallest `priority` first, in the order of "
                  "arrival among equals. Nothing is preempted for it.",
       .source = "vLLM's --scheduling-policy priority (PriorityRequestQueue)",
       .make = [](const QueueSetup& setup) { return std::make_unique<Priority>(setup.classes); }});
}

}  // namespace tokenline
