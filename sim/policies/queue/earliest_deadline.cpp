#include <utility>

#include "sim/policies/policies.hpp"
#include "sim/policies/queue/ranked_queue.hpp"

namespace tokenline {
namespace {

class EarliestDeadline final : public RankedQueue<TimePoint> {
 public:
  explicit EarliestDeadline(std::vector<QueueClass> classes) : classes_(std::move(classes)) {}

 private:
  [[nodiscard]] TimePoint rank(const QueuedRequest& request) const override {
    const auto& target = classes_[request.class_index].ttft_target;
    return target ? request.arrival + *target : TimePoint::max();
  }

  std::vector<QueueClass> classes_;
};

}  // namespace

void register_queue_earliest_deadline(Policies& policies) {
  policies.queue.add(
      "earliest_deadline",
      {.summary = "The request whose arrival + slo.ttft of its class comes first; classes without "
                  "such a target last, in the order of arrival.",
       .source = "Liu and Layland, Scheduling Algorithms for Multiprogramming in a Hard-Real-Time "
                 "Environment (JACM 1973), without preemption",
       .make = [](const QueueSetup& setup) {
         return std::make_unique<EarliestDeadline>(setup.classes);
       }});
}

}  // namespace tokenline
