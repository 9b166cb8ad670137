#include <algorithm>

#include "sim/policies/policies.hpp"

namespace tokenline {
namespace {

class LeastOutstanding final : public Router {
 public:
  std::size_t route(const RouteRequest& /*request*/,
                    std::span<const ReplicaView> replicas) override {
    const auto best = std::ranges::min_element(replicas, {}, &ReplicaView::outstanding);
    return static_cast<std::size_t>(best - replicas.begin());
  }
};

}  // namespace

void register_router_least_outstanding(Policies& policies) {
  policies.router.add(
      "least_outstanding",
      {.summary = "Fewest waiting and running requests; the first one on ties.",
       .source = "Envoy's least-request load balancing over all hosts",
       .make = [](const RouterSetup&) { return std::make_unique<LeastOutstanding>(); }});
}

}  // namespace tokenline
