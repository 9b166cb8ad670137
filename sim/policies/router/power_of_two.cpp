#include <boost/random/uniform_int_distribution.hpp>

#include "sim/base/random.hpp"
#include "sim/policies/policies.hpp"

namespace tokenline {
namespace {

class PowerOfTwo final : public Router {
 public:
  explicit PowerOfTwo(std::uint64_t seed) : seed_(seed) {}

  std::size_t route(const RouteRequest& request, std::span<const ReplicaView> replicas) override {
    if (replicas.size() == 1) return 0;
    RandomStream random(seed_, purpose_, request.id);
    const std::size_t first = draw(replicas.size(), random);
    // Of the others each is as likely.
    std::size_t second = draw(replicas.size() - 1, random);
    if (second >= first) ++second;
    return replicas[second].outstanding < replicas[first].outstanding ? second : first;
  }

 private:
  static std::size_t draw(std::size_t below, RandomStream& random) {
    return boost::random::uniform_int_distribution<std::size_t>(0, below - 1)(random);
  }

  std::uint64_t seed_;
  std::uint64_t purpose_ = RandomStream::hash("router");
};

}  // namespace

void register_router_power_of_two(Policies& policies) {
  policies.router.add(
      "power_of_two",
      {.summary = "The less loaded of two different replicas drawn at random, by waiting and "
                  "running requests; the one drawn first on ties.",
       .source = "Mitzenmacher, The Power of Two Choices in Randomized Load Balancing (IEEE TPDS "
                 "2001); Envoy's least-request load balancing with its default of two choices",
       .make = [](const RouterSetup& setup) { return std::make_unique<PowerOfTwo>(setup.seed); }});
}

}  // namespace tokenline
