#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/policies/policies.hpp"

using namespace tokenline;

namespace {

/// One request among `range` replicas; the chosen one has it from then on.
void route(benchmark::State& state, const char* policy) {
  const auto router = builtin_policies().router.at(policy).make({.seed = 42});
  RandomStream random(42, "bench", 0);
  std::vector<ReplicaView> replicas(static_cast<std::size_t>(state.range(0)));
  for (ReplicaView& replica : replicas)
    replica.outstanding = static_cast<std::int64_t>(random() % 64);
  std::uint64_t requests = 0;
  for (auto _ : state) {
    const std::size_t chosen = router->route({.id = ++requests, .prompt_tokens = 512}, replicas);
    ++replicas[chosen].outstanding;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(route, round_robin, "round_robin")->Arg(2)->Arg(16)->Arg(256);
BENCHMARK_CAPTURE(route, least_outstanding, "least_outstanding")->Arg(2)->Arg(16)->Arg(256);
BENCHMARK_CAPTURE(route, power_of_two, "power_of_two")->Arg(2)->Arg(16)->Arg(256);

}  // namespace
