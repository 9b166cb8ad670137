#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/kernel/simulation.hpp"

// rapidcheck's Catch adapter needs Catch first.
#include <rapidcheck/catch.h>

using namespace tokenline;

namespace {

constexpr TimePoint zero{};

Phase phase_of(std::uint8_t byte) { return static_cast<Phase>(byte % 4); }

/// Workers that each take steps of given lengths in given phases. Every third step of a worker
/// also schedules an event beside it. Lengths of 0 to 3 ns make ties the rule.
struct Program {
  std::vector<std::vector<std::uint8_t>> workers;

  /// What happened: who ran, when.
  using Log = std::vector<std::pair<std::size_t, TimePoint>>;
  struct Outcome {
    Log log;
    std::uint64_t executed;
    std::uint64_t fingerprint;
    friend bool operator==(const Outcome&, const Outcome&) = default;
  };

  [[nodiscard]] Outcome run(bool fast) const {
    Simulation sim;
    Log log;
    std::vector<std::size_t> done(workers.size());

    const auto work = [&](std::size_t worker) {
      log.emplace_back(worker, sim.now());
      const auto byte = workers[worker][done[worker]++];
      if (done[worker] % 3 == 0)
        sim.after(Duration(byte % 5), phase_of(static_cast<std::uint8_t>(byte / 5)),
                  [&, worker] { log.emplace_back(workers.size() + worker, sim.now()); });
    };
    const auto more = [&](std::size_t worker) { return done[worker] < workers[worker].size(); };

    std::function<void(std::size_t)> start = [&](std::size_t worker) {
      while (more(worker)) {
        const auto byte = workers[worker][done[worker]];
        const auto when = sim.now() + Duration(byte % 4);
        const auto phase = phase_of(static_cast<std::uint8_t>(byte / 4));
        if (fast && sim.try_advance(when, phase)) {
          work(worker);
          continue;
        }
        sim.at(when, phase, [&, worker] {
          work(worker);
          start(worker);
        });
        return;
      }
    };
    for (std::size_t worker = 0; worker < workers.size(); ++worker)
      sim.at(zero, Phase::decision, [&, worker] { start(worker); });
    sim.run();
    return {.log = std::move(log), .executed = sim.executed(), .fingerprint = sim.fingerprint()};
  }
};

}  // namespace

TEST_CASE("events run in the order (time, phase, scheduling)") {
  rc::prop("as a stable sort of the same events",
           [](const std::vector<std::pair<std::uint8_t, std::uint8_t>>& events) {
             std::vector<std::tuple<TimePoint, Phase, std::size_t>> expected;
             std::vector<std::tuple<TimePoint, Phase, std::size_t>> actual;
             Simulation sim;
             for (const auto& [time, byte] : events) {
               const auto key =
                   std::tuple(zero + Duration(time % 8), phase_of(byte), expected.size());
               expected.push_back(key);
               sim.at(std::get<0>(key), std::get<1>(key), [&, key] {
                 RC_ASSERT(sim.now() == std::get<0>(key));
                 actual.push_back(key);
               });
             }
             sim.run();
             std::ranges::sort(expected);
             RC_ASSERT(actual == expected);
             RC_ASSERT(sim.executed() == events.size());
           });
}

TEST_CASE("the clock never goes back and no event is lost") {
  rc::prop("when events schedule events", [](const std::vector<std::uint16_t>& delays) {
    Simulation sim;
    TimePoint last{};
    std::size_t ran = 0;
    std::function<void()> next = [&] {
      RC_ASSERT(sim.now() >= last);
      last = sim.now();
      if (const std::size_t i = ran++; i + 1 < delays.size())
        sim.after(Duration(delays[i + 1]), Phase::arrival, next);
    };
    if (!delays.empty()) sim.after(Duration(delays[0]), Phase::arrival, next);
    sim.run();
    RC_ASSERT(ran == delays.size());
    std::int64_t total = 0;
    for (const auto delay : delays) total += delay;
    RC_ASSERT(sim.now() == zero + Duration(total));
  });
}

TEST_CASE("advancing without the queue gives the run that scheduling every step gives") {
  rc::prop("order, clock, count and fingerprint are equal",
           [](const std::vector<std::vector<std::uint8_t>>& workers) {
             const Program program{workers};
             const auto slow = program.run(false);
             const auto fast = program.run(true);
             RC_ASSERT(slow == fast);
             // Its start, its steps, and an event beside every third step.
             std::size_t events = 0;
             for (const auto& worker : workers) events += 1 + worker.size() + worker.size() / 3;
             RC_ASSERT(slow.executed == events);
           });
}
