#pragma once

#include "sim/policies/admission/admission.hpp"
#include "sim/policies/queue/queue.hpp"
#include "sim/policies/registry.hpp"
#include "sim/policies/router/router.hpp"
#include "sim/policies/scheduler/scheduler.hpp"

namespace tokenline {

/// Every policy a scenario can name, by kind.
struct Policies {
  Registry<AdmissionControl, AdmissionSetup> admission;
  Registry<RequestQueue, QueueSetup> queue;
  Registry<Router, RouterSetup> router;
  Registry<Scheduler> scheduler;
};

/// The policies listed in policies.def.
[[nodiscard]] Policies builtin_policies();

}  // namespace tokenline
