#include <algorithm>

#include "sim/base/integer.hpp"
#include "sim/policies/policies.hpp"

namespace tokenline {
namespace {

class LeastKv final : public Router {
 public:
  std::size_t route(const RouteRequest& /*request*/,
                    std::span<const ReplicaView> replicas) override {
    // What the request itself needs is the same everywhere.
    const auto best = std::ranges::min_element(replicas, {}, [](const ReplicaView& replica) {
      return replica.used_blocks + ceil_div(replica.queued_tokens, replica.block_size);
    });
    return static_cast<std::size_t>(best - replicas.begin());
  }
};

}  // namespace

void register_router_least_kv(Policies& policies) {
  policies.router.add(
      "least_kv", {.summary = "Fewest KV blocks in use and to be filled by the prompts that wait; "
                              "the first one on ties.",
                   .source = "NVIDIA Dynamo's KV router without shared prefixes: active blocks + "
                             "prefill blocks (Router Design, Cost Function)",
                   .make = [](const RouterSetup&) { return std::make_unique<LeastKv>(); }});
}

}  // namespace tokenline
