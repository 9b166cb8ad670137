#include <catch2/catch.hpp>
#include <vector>

#include "sim/policies/policies.hpp"

using namespace tokenline;

TEST_CASE("round_robin takes each replica in turn whatever its load", "[policies]") {
  const auto router = builtin_policies().router.at("round_robin").make();
  const std::vector<ReplicaView> replicas{
      {.outstanding = 9}, {.outstanding = 0}, {.outstanding = 4}};
  for (std::size_t i = 0; i < 7; ++i) CHECK(router->route(replicas) == i % 3);
}

TEST_CASE("least_outstanding takes the least loaded replica, the first one on ties", "[policies]") {
  const auto router = builtin_policies().router.at("least_outstanding").make();
  CHECK(router->route(std::vector<ReplicaView>{
            {.outstanding = 9}, {.outstanding = 3}, {.outstanding = 3}}) == 1);
  CHECK(router->route(std::vector<ReplicaView>{{.outstanding = 0}}) == 0);
}
