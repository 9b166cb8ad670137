#include "sim/policies/policies.hpp"

namespace tokenline {

void register_queue_fcfs(Policies& policies) {
  policies.queue.add("fcfs", {.summary = "In the order in which requests come to the replica.",
                              .source = "vLLM's --scheduling-policy fcfs, its default",
                              // The engine's own queue keeps that order.
                              .make = [](const QueueSetup&) { return nullptr; }});
}

}  // namespace tokenline
