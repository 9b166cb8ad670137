#include <algorithm>
#include <utility>

#include "sim/policies/policies.hpp"

namespace tokenline {
namespace {

/// Prompt tokens per second that the replicas have computed so far; none has: 0. Over all of them,
/// which are alike: one whose only prompt was short would look slow, and never be tried again.
double prefill_rate(std::span<const ReplicaView> replicas) {
  double tokens = 0.0;
  double seconds = 0.0;
  for (const ReplicaView& replica : replicas) {
    tokens += static_cast<double>(replica.prefilled_tokens);
    seconds += to_seconds(replica.prefill_time).value();
  }
  return seconds > 0.0 ? tokens / seconds : 0.0;
}

/// When the request's prompt would be computed behind all that waits.
double predicted_ttft(const RouteRequest& request, const ReplicaView& replica, double rate) {
  if (rate == 0.0) return 0.0;
  return static_cast<double>(replica.queued_tokens + request.prompt_tokens) / rate;
}

class SloAware final : public Router {
 public:
  std::size_t route(const RouteRequest& request, std::span<const ReplicaView> replicas) override {
    // A request has one target: the most slack is where the prediction is shortest.
    const double rate = prefill_rate(replicas);
    const auto best = std::ranges::min_element(replicas, {}, [&](const ReplicaView& replica) {
      return std::pair(predicted_ttft(request, replica, rate), replica.queued_tokens);
    });
    return static_cast<std::size_t>(best - replicas.begin());
  }
};

}  // namespace

void register_router_slo_aware(Policies& policies) {
  policies.router.add(
      "slo_aware",
      {.summary =
           "Most slack between the target for the first token and its prediction, the tokens "
           "that wait to be prefilled over the rate at which replicas have prefilled so "
           "far; the fewest such tokens, then the first one on ties.",
       .source = "Mooncake's Conductor (FAST'25, Algorithm 1: shortest estimated TTFT); llm-d's "
                 "predicted-latency scheduling, strategy of most headroom",
       .make = [](const RouterSetup&) { return std::make_unique<SloAware>(); }});
}

}  // namespace tokenline
