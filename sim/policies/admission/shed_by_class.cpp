#include <algorithm>
#include <functional>
#include <set>

#include "sim/policies/policies.hpp"

namespace tokenline {
namespace {

class ShedByClass final : public AdmissionControl {
 public:
  explicit ShedByClass(const AdmissionSetup& setup) {
    const std::set<std::int64_t, std::greater<>> levels(setup.priorities.begin(),
                                                        setup.priorities.end());
    for (const std::int64_t priority : setup.priorities) {
      const auto less_urgent = std::distance(levels.begin(), levels.find(priority));
      if (priority == *levels.rbegin())
        limits_.emplace_back();
      else
        limits_.emplace_back((less_urgent + 1) * setup.shed_above);
    }
  }

  bool admits(const AdmissionRequest& request, std::span<const ReplicaView> replicas) override {
    const auto& limit = limits_[request.class_index];
    return !limit || waiting_on(replicas) < *limit;
  }

 private:
  std::vector<std::optional<std::int64_t>> limits_;  ///< By class; the most urgent have none.
};

}  // namespace

void register_admission_shed_by_class(Policies& policies) {
  policies.admission.add(
      "shed_by_class",
      {.summary = "Refuses the classes with the largest `priority` while `shed_above` requests "
                  "wait, the next larger ones too from twice as many on, and so on; never those "
                  "with the smallest.",
       .source = "Kubernetes Gateway API Inference Extension (sheddable requests under "
                 "saturation); overload control by business priority, DAGOR (SoCC'18)",
       .make = [](const AdmissionSetup& setup) { return std::make_unique<ShedByClass>(setup); }});
}

}  // namespace tokenline
