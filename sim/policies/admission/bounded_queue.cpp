#include <algorithm>

#include "sim/policies/policies.hpp"

namespace tokenline {
namespace {

class BoundedQueue final : public AdmissionControl {
 public:
  explicit BoundedQueue(const AdmissionSetup& setup)
      : in_all_(setup.max_waiting), per_replica_(setup.max_waiting_per_replica) {}

  bool admits(const AdmissionRequest& /*request*/, std::span<const ReplicaView> replicas) override {
    if (in_all_ && waiting_on(replicas) >= *in_all_) return false;
    return std::ranges::any_of(replicas, [this](const auto& replica) { return has_room(replica); });
  }
  [[nodiscard]] bool has_room(const ReplicaView& replica) const override {
    return !per_replica_ || replica.waiting < *per_replica_;
  }

 private:
  std::optional<std::int64_t> in_all_;
  std::optional<std::int64_t> per_replica_;
};

}  // namespace

void register_admission_bounded_queue(Policies& policies) {
  policies.admission.add(
      "bounded_queue",
      {.summary = "Refuses a request when `max_waiting` wait in all, or on every replica "
                  "`max_waiting_per_replica`; a replica that is full is not chosen.",
       .source = "SGLang's --max-queued-requests (HTTP 503, the request queue is full), Triton's "
                 "max_queue_size",
       .make = [](const AdmissionSetup& setup) { return std::make_unique<BoundedQueue>(setup); }});
}

}  // namespace tokenline
