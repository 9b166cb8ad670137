#include "workloads/traffic/generated.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/unit/traffic/support.hpp"

using namespace tokenline;
using namespace tokenline::traffic;
using tokenline::traffic::testing::all_of;

namespace {

constexpr auto unlimited = std::numeric_limits<std::int64_t>::max();

TimePoint at(double seconds) { return TimePoint(to_duration(Seconds(seconds))); }

Requests requests(std::int64_t limit, std::uint64_t seed = 42, const std::string& name = "chat") {
  return {seed, name, 0,
          IndependentLengths{LognormalLength{200.0, 0.9, 1, 5000}, UniformLength{10, 100}}, limit};
}

OpenLoop open_loop(Process process, double rate, std::int64_t limit, double stop,
                   std::uint64_t seed = 42) {
  return OpenLoop(requests(limit, seed),
                  ArrivalTimes(Renewal(process, 0.5, RandomStream(seed, "chat/arrivals", 0)),
                               RateProfile::constant(PerSecond(rate), Seconds(0.0)), at(stop)));
}

bool same(const Arrival& a, const Arrival& b) {
  return std::tie(a.when, a.prompt_tokens, a.output_tokens, a.class_index) ==
         std::tie(b.when, b.prompt_tokens, b.output_tokens, b.class_index);
}

}  // namespace

TEST_CASE("constant arrivals come every 1/rate, the first one gap after the start", "[traffic]") {
  OpenLoop source(
      requests(5),
      ArrivalTimes(Renewal(Process::constant, 1.0, RandomStream(1, "x", 0)),
                   RateProfile::constant(PerSecond(4.0), Seconds(10.0)), TimePoint::max()));
  const auto arrivals = all_of(source);
  REQUIRE(arrivals.size() == 5);
  for (std::size_t i = 0; i < 5; ++i)
    REQUIRE(arrivals[i].when == at(10.0 + 0.25 * static_cast<double>(i + 1)));
}

TEST_CASE("nothing arrives at or after the stop", "[traffic]") {
  auto source = open_loop(Process::constant, 10.0, unlimited, 2.0);
  const auto arrivals = all_of(source);
  REQUIRE(arrivals.size() == 19);
  REQUIRE(arrivals.back().when == at(1.9));
  REQUIRE_FALSE(source.next());
}

TEST_CASE("an open loop offers rate × time requests and ignores what finishes", "[traffic]") {
  const double expected = 50.0 * 1000.0;
  for (const auto process : {Process::poisson, Process::gamma}) {
    auto source = open_loop(process, 50.0, unlimited, 1000.0);
    const auto arrivals = all_of(source);
    // Var(N) → rate · time · CV²; CV² = 2 for gamma with shape 0.5.
    const double variance = expected * (process == Process::gamma ? 2.0 : 1.0);
    REQUIRE(std::abs(static_cast<double>(arrivals.size()) - expected) < 5.0 * std::sqrt(variance));
    for (std::size_t i = 1; i < arrivals.size(); ++i)
      REQUIRE(arrivals[i - 1].when <= arrivals[i].when);
    REQUIRE_FALSE(source.finished({at(1.0)}));
  }
}

TEST_CASE("arrivals follow a rate profile: counts per interval match its integral", "[traffic]") {
  const std::vector<RatePoint> points{{Seconds(0.0), PerSecond(20.0), false},
                                      {Seconds(100.0), PerSecond(200.0), true},
                                      {Seconds(100.5), PerSecond(0.0), false},
                                      {Seconds(150.0), PerSecond(60.0), false}};
  const RateProfile profile(points, Seconds(0.0));
  OpenLoop source(
      requests(unlimited),
      ArrivalTimes(Renewal(Process::poisson, 1.0, RandomStream(3, "x", 0)), profile, at(250.0)));
  std::vector<int> counts(25);
  while (const auto arrival = source.next())
    ++counts[static_cast<std::size_t>(to_seconds(arrival->when.time_since_epoch()).value() / 10)];
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = profile.expected(Seconds(10.0 * static_cast<double>(i + 1))) -
                            profile.expected(Seconds(10.0 * static_cast<double>(i)));
    REQUIRE(std::abs(counts[i] - expected) <= 5.0 * std::sqrt(expected));
  }
}

TEST_CASE("the number of prompts limits every kind of source", "[traffic]") {
  auto open = open_loop(Process::poisson, 1.0, 7, 1e9);
  REQUIRE(all_of(open).size() == 7);
  ClosedLoop closed(requests(7), 5, {});
  REQUIRE(all_of(closed).size() == 5);
  REQUIRE(closed.finished({at(1.0)}));
  REQUIRE(closed.finished({at(2.0)}));
  REQUIRE_FALSE(closed.finished({at(3.0)}));
  ClosedLoop small(requests(3), 5, {});
  REQUIRE(all_of(small).size() == 3);
  REQUIRE_FALSE(small.finished({at(1.0)}));
}

TEST_CASE("a client thinks between its answer and its next request, not before its first",
          "[traffic]") {
  constexpr Duration think = std::chrono::milliseconds(250);
  ClosedLoop source(requests(unlimited), 2, {at(5.0), at(60.0)}, think);
  for (const Arrival& first : all_of(source)) REQUIRE(first.when == at(5.0));
  const auto next = source.finished({at(7.0)});
  REQUIRE(next);
  REQUIRE(next->when == at(7.0) + think);
  // What counts against the stop is when the request would be sent.
  REQUIRE(source.finished({at(60.0) - think - Duration(1)}));
  REQUIRE_FALSE(source.finished({at(60.0) - think}));
}

TEST_CASE("a closed loop keeps its concurrency: one request in for one out", "[traffic]") {
  ClosedLoop source(requests(unlimited), 8, {at(5.0), at(60.0)});
  const auto first = all_of(source);
  REQUIRE(first.size() == 8);
  for (const auto& arrival : first) REQUIRE(arrival.when == at(5.0));
  REQUIRE(source.finished({at(7.5)}).value().when == at(7.5));
  REQUIRE(source.finished({at(59.999999999)}));
  REQUIRE_FALSE(source.finished({at(60.0)}));
}

TEST_CASE("request n has the same lengths whatever the arrival process does", "[traffic]") {
  auto slow = open_loop(Process::poisson, 1.0, 200, 1e9);
  auto fast = open_loop(Process::gamma, 99.0, 200, 1e9);
  ClosedLoop closed(requests(200), 200, {});
  const auto reference = all_of(slow);
  for (Source* source : {static_cast<Source*>(&fast), static_cast<Source*>(&closed)}) {
    const auto others = all_of(*source);
    REQUIRE(others.size() == reference.size());
    for (std::size_t i = 0; i < others.size(); ++i) {
      REQUIRE(others[i].prompt_tokens == reference[i].prompt_tokens);
      REQUIRE(others[i].output_tokens == reference[i].output_tokens);
    }
  }
}

TEST_CASE("the same seed gives the same requests, another seed others", "[traffic]") {
  auto a = open_loop(Process::gamma, 5.0, 100, 1e9, 1);
  auto b = open_loop(Process::gamma, 5.0, 100, 1e9, 1);
  auto c = open_loop(Process::gamma, 5.0, 100, 1e9, 2);
  const auto first = all_of(a);
  const auto second = all_of(b);
  const auto other = all_of(c);
  std::size_t equal = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    REQUIRE(same(first[i], second[i]));
    equal += same(first[i], other[i]) ? 1U : 0U;
  }
  REQUIRE(equal == 0);
}

TEST_CASE("every compiler draws the same first requests", "[traffic]") {
  // A digest, not a law: it pins Philox, Boost.Random and libm together, so that a scenario gives
  // the same bytes whichever compiler built the simulator.
  std::uint64_t digest = 0xcbf29ce484222325ULL;
  const auto add = [&](std::int64_t word) {
    digest = (digest ^ static_cast<std::uint64_t>(word)) * 0x100000001b3ULL;
  };
  for (const auto process : {Process::poisson, Process::gamma}) {
    auto source = open_loop(process, 35.0, 1000, 1e9);
    for (const auto& arrival : all_of(source)) {
      add(arrival.when.time_since_epoch().count());
      add(arrival.prompt_tokens);
      add(arrival.output_tokens);
    }
  }
  REQUIRE(digest == 0x73c5852f9d6b8c68ULL);
}

TEST_CASE("a rate too low for the clock ends the source instead of overflowing it", "[traffic]") {
  auto source = open_loop(Process::constant, 1e-9, 100, 9.2e9);
  REQUIRE(all_of(source).size() == 9);
}
