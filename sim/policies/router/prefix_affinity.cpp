#include <algorithm>

#include "sim/base/integer.hpp"
#include "sim/policies/policies.hpp"

namespace tokenline {
namespace {

class PrefixAffinity final : public Router {
 public:
  [[nodiscard]] bool asks_for_prefixes() const override { return true; }

  std::size_t route(const RouteRequest& request, std::span<const ReplicaView> replicas) override {
    const auto cost = [&](const ReplicaView& replica) {
      const std::int64_t to_prefill =
          replica.queued_tokens + request.prompt_tokens - replica.cached_tokens;
      return replica.used_blocks + ceil_div(to_prefill, replica.block_size);
    };
    return static_cast<std::size_t>(std::ranges::min_element(replicas, {}, cost) -
                                    replicas.begin());
  }
};

}  // namespace

void register_router_prefix_affinity(Policies& policies) {
  policies.router.add(
      "prefix_affinity",
      {.summary =
           "Fewest KV blocks in use and to be filled, where what a replica has of the prompt "
           "need not be; the first one on ties.",
       .source = "NVIDIA Dynamo's KV router: overlap_score_weight (1) x prefill blocks + active "
                 "blocks, prefixes known from KV events (Router Design, Cost Function)",
       .make = [](const RouterSetup&) { return std::make_unique<PrefixAffinity>(); }});
}

}  // namespace tokenline
