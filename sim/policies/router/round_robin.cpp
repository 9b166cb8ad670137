#include "sim/policies/policies.hpp"

namespace tokenline {
namespace {

class RoundRobin final : public Router {
 public:
  std::size_t route(const RouteRequest& /*request*/,
                    std::span<const ReplicaView> replicas) override {
    return next_++ % replicas.size();
  }

 private:
  std::size_t next_ = 0;
};

}  // namespace

void register_router_round_robin(Policies& policies) {
  policies.router.add("round_robin",
                      {.summary = "Each replica in turn, whatever its load.",
                       .source = "nginx's default for an upstream group",
                       .make = [](const RouterSetup&) { return std::make_unique<RoundRobin>(); }});
}

}  // namespace tokenline
