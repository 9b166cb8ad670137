#include <algorithm>

#include "sim/base/random.hpp"
#include "sim/policies/policies.hpp"

namespace tokenline {
namespace {

class SessionAffinity final : public Router {
 public:
  explicit SessionAffinity(std::uint64_t seed) : seed_(seed) {}

  [[nodiscard]] bool asks_for_sessions() const override { return true; }

  std::size_t route(const RouteRequest& request, std::span<const ReplicaView> replicas) override {
    const auto best =
        request.session ? std::ranges::max_element(replicas, {},
                                                   [&](const ReplicaView& replica) {
                                                     return weight(*request.session, replica.index);
                                                   })
                        : std::ranges::min_element(replicas, {}, &ReplicaView::outstanding);
    return static_cast<std::size_t>(best - replicas.begin());
  }

 private:
  /// How much a session wants a replica, whichever others there are.
  [[nodiscard]] std::uint64_t weight(std::uint64_t session, std::uint64_t replica) const {
    RandomStream random(seed_ ^ session, purpose_, replica);
    const std::uint64_t high = random();
    return (high << 32U) | random();
  }

  std::uint64_t seed_;
  std::uint64_t purpose_ = RandomStream::hash("router");
};

}  // namespace

void register_router_session_affinity(Policies& policies) {
  policies.router.add(
      "session_affinity",
      {.summary =
           "The same replica for all turns of a conversation, by a hash that moves only the "
           "conversations of a replica that is down; fewest outstanding requests for others.",
       .source =
           "Thaler and Ravishankar, rendezvous hashing (IEEE/ACM ToN 1998); `session` routing of "
           "the vLLM production stack (src/vllm_router/routers/routing_logic.py), which takes a "
           "hash ring and, without a session, the replica with the fewest requests",
       .make = [](const RouterSetup& setup) {
         return std::make_unique<SessionAffinity>(setup.seed);
       }});
}

}  // namespace tokenline
