#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "sim/policies/policies.hpp"

using namespace tokenline;

namespace {

std::unique_ptr<Router> make_router(const std::string& name, std::uint64_t seed = 42) {
  return builtin_policies().router.at(name).make({.seed = seed});
}

std::vector<ReplicaView> with_outstanding(const std::vector<std::int64_t>& counts) {
  std::vector<ReplicaView> replicas;
  for (const std::int64_t count : counts) replicas.push_back({.outstanding = count});
  return replicas;
}

}  // namespace

TEST_CASE("round_robin takes each replica in turn whatever its load", "[policies]") {
  const auto router = make_router("round_robin");
  const auto replicas = with_outstanding({9, 0, 4});
  for (std::size_t i = 0; i < 7; ++i) CHECK(router->route({.id = i}, replicas) == i % 3);
}

TEST_CASE("least_outstanding takes the least loaded replica, the first one on ties", "[policies]") {
  const auto router = make_router("least_outstanding");
  CHECK(router->route({}, with_outstanding({9, 3, 3})) == 1);
  CHECK(router->route({}, with_outstanding({0})) == 0);
}

TEST_CASE("power_of_two never takes the most loaded replica, and the others by their rank",
          "[policies]") {
  // Of n replicas the one with r less loaded ones is taken in (n - 1 - r) of the n (n - 1) / 2
  // pairs.
  const auto router = make_router("power_of_two");
  const auto replicas = with_outstanding({30, 10, 40, 20});
  constexpr int draws = 60'000;
  std::array<int, 4> taken{};
  for (std::uint64_t id = 0; id < draws; ++id) ++taken.at(router->route({.id = id}, replicas));
  CHECK(taken[2] == 0);
  CHECK(taken[1] / double{draws} == Approx(3.0 / 6.0).margin(0.01));
  CHECK(taken[3] / double{draws} == Approx(2.0 / 6.0).margin(0.01));
  CHECK(taken[0] / double{draws} == Approx(1.0 / 6.0).margin(0.01));
}

TEST_CASE("power_of_two takes equally loaded replicas equally often, and the only one",
          "[policies]") {
  const auto router = make_router("power_of_two");
  const auto replicas = with_outstanding({5, 5, 5});
  constexpr int draws = 30'000;
  std::array<int, 3> taken{};
  for (std::uint64_t id = 0; id < draws; ++id) ++taken.at(router->route({.id = id}, replicas));
  for (const int count : taken) CHECK(count / double{draws} == Approx(1.0 / 3.0).margin(0.01));
  CHECK(router->route({.id = 7}, with_outstanding({3})) == 0);
}

TEST_CASE("power_of_two draws by seed and request, whatever it was asked before", "[policies]") {
  const auto replicas = with_outstanding({1, 1, 1, 1, 1, 1, 1, 1});
  const auto first = make_router("power_of_two");
  const auto second = make_router("power_of_two");
  const auto other = make_router("power_of_two", 43);
  std::set<std::size_t> chosen;
  int different = 0;
  for (std::uint64_t id = 0; id < 50; ++id) {
    const std::size_t choice = first->route({.id = id}, replicas);
    chosen.insert(choice);
    CHECK(second->route({.id = id}, replicas) == choice);
    CHECK(second->route({.id = id}, replicas) == choice);
    different += other->route({.id = id}, replicas) != choice;
  }
  CHECK(chosen.size() == 8);
  CHECK(different > 25);
}

TEST_CASE("least_kv counts the blocks in use and those that the waiting prompts will fill",
          "[policies]") {
  const auto router = make_router("least_kv");
  const auto route = [&](const std::vector<ReplicaView>& replicas) {
    return router->route({}, replicas);
  };
  // 100 blocks; 90 + ⌈161 / 16⌉ = 101; 90 + ⌈160 / 16⌉ = 100, behind the first.
  CHECK(route({{.outstanding = 9, .queued_tokens = 0, .used_blocks = 100, .block_size = 16},
               {.outstanding = 1, .queued_tokens = 161, .used_blocks = 90, .block_size = 16},
               {.outstanding = 1, .queued_tokens = 160, .used_blocks = 90, .block_size = 16}}) ==
        0);
  CHECK(route({{.used_blocks = 100, .block_size = 16},
               {.queued_tokens = 144, .used_blocks = 90, .block_size = 16}}) == 1);
}

TEST_CASE("slo_aware takes the replica that is predicted to answer first", "[policies]") {
  const auto router = make_router("slo_aware");
  const auto view = [](std::int64_t queued, std::int64_t prefilled, std::int64_t milliseconds) {
    return ReplicaView{.queued_tokens = queued,
                       .prefilled_tokens = prefilled,
                       .prefill_time = std::chrono::milliseconds(milliseconds)};
  };
  const RouteRequest request{.id = 0, .prompt_tokens = 1000};
  // At 25,000 tokens in 3 s for all: 3000 tokens against 5000.
  CHECK(router->route(request, std::vector{view(4000, 20'000, 2000), view(2000, 5'000, 1000)}) ==
        1);
  CHECK(router->route(request, std::vector{view(2000, 20'000, 2000), view(2000, 5'000, 1000)}) ==
        0);
}

TEST_CASE("slo_aware goes on with a replica whose only prompt was short", "[policies]") {
  const auto router = make_router("slo_aware");
  CHECK(router->route({.id = 0, .prompt_tokens = 1000},
                      std::vector<ReplicaView>{
                          {.queued_tokens = 500,
                           .prefilled_tokens = 1'000'000,
                           .prefill_time = std::chrono::milliseconds(30'000)},
                          {.prefilled_tokens = 1, .prefill_time = std::chrono::milliseconds(7)},
                      }) == 1);
  // Nothing was computed anywhere: the fewer tokens.
  CHECK(router->route({.id = 0, .prompt_tokens = 10},
                      std::vector<ReplicaView>{{.queued_tokens = 500}, {.queued_tokens = 400}}) ==
        1);
}

TEST_CASE("prefix_affinity weighs what a replica has of the prompt against its load",
          "[policies]") {
  const auto router = make_router("prefix_affinity");
  const RouteRequest request{.id = 0, .prompt_tokens = 1000};
  const auto view = [](std::int64_t used, std::int64_t queued, std::int64_t cached) {
    return ReplicaView{
        .queued_tokens = queued, .used_blocks = used, .block_size = 10, .cached_tokens = cached};
  };
  // 50 + 100 blocks against 89 + 60, 90 + 60, and 40 + 50 + 60 where 500 tokens wait.
  CHECK(router->route(request, std::vector{view(50, 0, 0), view(89, 0, 400)}) == 1);
  CHECK(router->route(request, std::vector{view(50, 0, 0), view(90, 0, 400)}) == 0);
  CHECK(router->route(request, std::vector{view(50, 0, 0), view(40, 500, 401)}) == 0);
  CHECK(router->route(request, std::vector{view(50, 0, 0), view(40, 500, 410)}) == 1);
  CHECK(router->asks_for_prefixes());
  CHECK_FALSE(make_router("least_kv")->asks_for_prefixes());
}

TEST_CASE("session_affinity keeps conversations, spreads them, and moves only those it must",
          "[policies]") {
  const auto router = make_router("session_affinity");
  std::vector<ReplicaView> all;
  for (std::uint32_t i = 0; i < 4; ++i) all.push_back({.index = i, .outstanding = 4 - i});
  const std::vector<ReplicaView> without{all[0], all[1], all[3]};
  constexpr int sessions = 40'000;
  std::array<int, 4> taken{};
  for (std::uint64_t session = 0; session < sessions; ++session) {
    const RouteRequest turn{.id = session, .session = session * session};
    const std::uint32_t chosen = all[router->route(turn, all)].index;
    ++taken.at(chosen);
    const std::uint32_t then = without[router->route(turn, without)].index;
    if (chosen != 2) REQUIRE(then == chosen);
  }
  // Six deviations of a binomial count: sqrt(40000 · 1/4 · 3/4) = 87.
  for (const int count : taken) CHECK(count == Approx(sessions / 4.0).margin(520));
  CHECK(router->asks_for_sessions());
  CHECK_FALSE(make_router("prefix_affinity")->asks_for_sessions());
  // What is of no conversation goes where the fewest are.
  CHECK(router->route({.id = 1}, all) == 3);
}
