#include "sim/kernel/simulation.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>

#include "sim/base/check.hpp"

using namespace tokenline;
using namespace std::chrono_literals;

namespace {

constexpr TimePoint zero{};

/// Appends a letter to a log: an event that leaves a trace.
auto append(std::string& log, char letter) {
  return [&log, letter] { log += letter; };
}

}  // namespace

TEST_CASE("events run in the order of their times") {
  Simulation sim;
  std::string log;
  sim.at(zero + 3ns, Phase::arrival, append(log, 'c'));
  sim.at(zero + 1ns, Phase::sample, append(log, 'a'));
  sim.at(zero + 2ns, Phase::completion, append(log, 'b'));
  sim.run();
  CHECK(log == "abc");
  CHECK(sim.now() == zero + 3ns);
}

TEST_CASE("at one instant completions precede arrivals, decisions and samples") {
  Simulation sim;
  std::string log;
  sim.after(5ns, Phase::sample, append(log, 'd'));
  sim.after(5ns, Phase::decision, append(log, 'c'));
  sim.after(5ns, Phase::arrival, append(log, 'b'));
  sim.after(5ns, Phase::completion, append(log, 'a'));
  sim.run();
  CHECK(log == "abcd");
}

TEST_CASE("events of equal time and phase run in the order scheduled") {
  Simulation sim;
  std::string log;
  for (char letter = 'a'; letter <= 'z'; ++letter)
    sim.after(5ns, Phase::arrival, append(log, letter));
  sim.run();
  CHECK(log == "abcdefghijklmnopqrstuvwxyz");
}

TEST_CASE("an event may schedule another at its own instant, even of an earlier phase") {
  Simulation sim;
  std::string log;
  sim.after(5ns, Phase::sample, [&] {
    log += 'a';
    sim.after(0ns, Phase::completion, append(log, 'b'));
  });
  sim.after(5ns, Phase::sample, append(log, 'c'));
  sim.run();
  CHECK(log == "abc");
  CHECK(sim.now() == zero + 5ns);
}

TEST_CASE("scheduling in the past is a bug, not a clamp") {
  Simulation sim;
  sim.after(10ns, Phase::arrival, [] {});
  sim.run();
  CHECK_THROWS_AS(sim.at(zero + 9ns, Phase::arrival, [] {}), InternalError);
  CHECK_THROWS_AS(sim.after(-1ns, Phase::arrival, [] {}), InternalError);
  CHECK_THROWS_AS((void)sim.try_advance(zero + 9ns, Phase::arrival), InternalError);
  CHECK_THROWS_WITH(sim.at(zero + 7ns, Phase::arrival, [] {}),
                    Catch::Contains("at 10 ns an event was scheduled 3 ns in the past"));
  CHECK_FALSE(sim.step());
}

TEST_CASE("a simulation without events stands still") {
  Simulation sim;
  CHECK_FALSE(sim.step());
  CHECK(sim.now() == zero);
  CHECK(sim.executed() == 0);
}

TEST_CASE("an action keeps its captures while it schedules others, and drops them after it ran") {
  Simulation sim;
  auto token = std::make_shared<int>(7);
  const std::weak_ptr<int> watch = token;
  int seen = 0;
  sim.after(1ns, Phase::arrival, [&sim, &seen, token] {
    for (int i = 0; i < 100; ++i) sim.after(1ns, Phase::arrival, [] {});
    seen = *token;
  });
  token.reset();
  CHECK_FALSE(watch.expired());
  REQUIRE(sim.step());
  CHECK(seen == 7);
  CHECK(watch.expired());
}

TEST_CASE("an action that throws has run, and the others stay") {
  Simulation sim;
  std::string log;
  sim.after(1ns, Phase::arrival, [] { throw std::runtime_error("boom"); });
  sim.after(2ns, Phase::arrival, append(log, 'b'));
  CHECK_THROWS_AS(sim.step(), std::runtime_error);
  CHECK(sim.executed() == 1);
  sim.run();
  CHECK(log == "b");
}

TEST_CASE("the clock advances without the queue when nothing else is due first") {
  Simulation sim;
  sim.at(zero + 5ns, Phase::arrival, [] {});
  CHECK(sim.try_advance(zero + 4ns, Phase::sample));
  CHECK(sim.now() == zero + 4ns);
  CHECK(sim.try_advance(zero + 5ns, Phase::completion));
  CHECK(sim.now() == zero + 5ns);
  CHECK(sim.executed() == 2);
}

TEST_CASE("a refused advance changes nothing") {
  Simulation sim;
  sim.at(zero + 5ns, Phase::arrival, [] {});
  const auto before = sim.fingerprint();
  CHECK_FALSE(sim.try_advance(zero + 6ns, Phase::completion));
  CHECK_FALSE(sim.try_advance(zero + 5ns, Phase::decision));
  // Equal time and phase: the event in the queue was scheduled first.
  CHECK_FALSE(sim.try_advance(zero + 5ns, Phase::arrival));
  CHECK(sim.now() == zero);
  CHECK(sim.executed() == 0);
  CHECK(sim.fingerprint() == before);
}

TEST_CASE("a sample moves the clock and changes nothing") {
  Simulation sim;
  sim.at(TimePoint{} + 5ns, Phase::arrival, [] {});
  sim.at(TimePoint{} + 9ns, Phase::sample, [] {});
  sim.run();
  CHECK(sim.now() == TimePoint{} + 9ns);
  CHECK(sim.last_change() == TimePoint{} + 5ns);
}

TEST_CASE("the fingerprint tells apart time, phase and order of scheduling") {
  const auto fingerprint = [](Duration first, Phase phase, Duration second) {
    Simulation sim;
    sim.after(first, phase, [] {});
    sim.after(second, Phase::arrival, [] {});
    sim.run();
    return sim.fingerprint();
  };
  const auto base = fingerprint(1ns, Phase::arrival, 2ns);
  CHECK(fingerprint(1ns, Phase::arrival, 2ns) == base);
  CHECK(fingerprint(1ns, Phase::arrival, 3ns) != base);
  CHECK(fingerprint(1ns, Phase::decision, 2ns) != base);
  CHECK(fingerprint(2ns, Phase::arrival, 1ns) != base);
}

TEST_CASE("a cancelled event does not happen, moves no clock and leaves no trace") {
  Simulation with;
  Simulation without;
  std::string log;
  for (Simulation* sim : {&with, &without}) {
    sim->after(1ns, Phase::arrival, append(log, 'a'));
    const auto event = sim->after(3ns, Phase::arrival, append(log, 'x'));
    sim->after(2ns, Phase::arrival, append(log, 'b'));
    if (sim == &with) sim->cancel(event);
  }
  with.run();
  CHECK(log == "ab");
  CHECK(with.now() == zero + 2ns);
  CHECK(with.last_change() == zero + 2ns);
  CHECK(with.executed() == 2);
  without.run();
  CHECK(log == "ababx");
  CHECK(without.executed() == 3);
}

TEST_CASE("the place of a cancelled event is used again, and its name is not") {
  Simulation sim;
  std::string log;
  const auto gone = sim.after(1ns, Phase::arrival, append(log, 'x'));
  sim.cancel(gone);
  CHECK_THROWS_AS(sim.cancel(gone), InternalError);
  sim.run();
  const auto again = sim.after(1ns, Phase::arrival, append(log, 'a'));
  CHECK(again.slot == gone.slot);
  CHECK_THROWS_AS(sim.cancel(gone), InternalError);
  sim.run();
  CHECK(log == "a");
  CHECK_THROWS_AS(sim.cancel(again), InternalError);
}

TEST_CASE("once a stop is requested no event runs any more") {
  Simulation sim;
  std::stop_source stop;
  std::string log;
  sim.stop_on(stop.get_token());
  sim.at(zero + 1ns, Phase::arrival, append(log, 'a'));
  sim.at(zero + 2ns, Phase::arrival, [&stop] { stop.request_stop(); });
  sim.at(zero + 3ns, Phase::arrival, append(log, 'b'));
  CHECK_THROWS_AS(sim.run(), Interrupted);
  CHECK(log == "a");
  CHECK(sim.now() == zero + 2ns);
}

TEST_CASE("once a stop is requested steps that bypass the heap end, too") {
  Simulation sim;
  std::stop_source stop;
  sim.stop_on(stop.get_token());
  REQUIRE(sim.try_advance(zero + 1ns, Phase::completion));
  stop.request_stop();
  CHECK_THROWS_AS(sim.try_advance(zero + 2ns, Phase::completion), Interrupted);
}
