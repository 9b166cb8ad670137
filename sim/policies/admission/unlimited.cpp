#include "sim/policies/policies.hpp"

namespace tokenline {

void register_admission_unlimited(Policies& policies) {
  policies.admission.add("unlimited", {.summary = "Every request enters and waits.",
                                       .source = "vLLM's API server, whose queue has no bound",
                                       // Nobody is asked.
                                       .make = [](const AdmissionSetup&) { return nullptr; }});
}

}  // namespace tokenline
