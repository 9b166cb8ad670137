// Where a run's time went, told by its steps, against where its ledger says it went.
#include "sim/report/why/why.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>

#include "tests/support/random_pools.hpp"
#include "tests/support/random_scenario.hpp"

using namespace tokenline;
using namespace tokenline::report;
using namespace tokenline::test;

namespace {

constexpr int scenarios = 65;

/// What the runs showed.
struct Coverage {
  int requests = 0;
  int waits = 0;
  int stalled = 0;
  int preempted = 0;
  int recomputed = 0;
  int restarted = 0;
  int pipelined = 0;
  int moved = 0;
};

Blame blame(const Evidence& evidence, std::uint32_t request, TimePoint from, TimePoint to) {
  BlameSum sum(evidence);
  sum.add(evidence.life(request), from, to);
  return sum.finish();
}

template <std::size_t count>
PartTimes<count> parts_of(const Blame& blame) {
  PartTimes<count> parts;
  for (const auto& [key, time] : blame.time)
    if (static_cast<std::size_t>(key.first) < count) parts[key.first] += time;
  return parts;
}

void require_own_is_not_blamed(const Blame& blame, std::uint32_t request) {
  for (const auto& [part, by_request] : blame.by_request)
    REQUIRE(by_request[request] == Duration{});
}

void require_by_request_sums(const Blame& blame) {
  for (const auto& [part, by_request] : blame.by_request) {
    Duration each{};
    for (const Duration time : by_request) each += time;
    Duration together{};
    for (const auto& [key, time] : blame.time)
      if (key.first == part && key.second.cause == Cause::prompts) together += time;
    REQUIRE(each == together);
  }
}

void look(const Evidence& evidence, Coverage& coverage) {
  const RunResult& result = evidence.run();
  BlameSum all(evidence);
  Duration e2el{};
  for (std::uint32_t i = 0; i < result.log.records.size(); ++i) {
    const RequestRecord& record = result.log.records[i];
    if (record.outcome != Outcome::completed) continue;
    INFO("request " << i);
    const Blame whole = blame(evidence, i, record.arrival, record.finish);
    const Blame first = blame(evidence, i, record.arrival, record.first_token);
    REQUIRE(parts_of<part_count>(whole) == record.parts);
    REQUIRE(parts_of<part_count>(first).sum() == record.ttft());
    REQUIRE(parts_of<ttft_part_count>(first) == record.ttft_parts);
    // What its client gave up before may still be computed.
    if (record.retries == 0) require_own_is_not_blamed(whole, i);
    require_by_request_sums(whole);
    all.add(evidence.life(i), record.arrival, record.finish);
    e2el += record.e2el();
    ++coverage.requests;
    coverage.waits += record.parts[Part::wait_kv_blocks] > Duration{};
    coverage.stalled += record.parts[Part::decode_stalled] > Duration{};
    coverage.preempted += record.parts[Part::preempted] > Duration{};
    coverage.recomputed += record.parts[Part::recomputed] > Duration{};
    coverage.restarted += record.parts[Part::restart] > Duration{};
    coverage.pipelined += record.parts[Part::pipeline_wait] > Duration{};
    coverage.moved += record.parts[Part::transfer_wire] > Duration{};
  }
  const Blame together = all.finish();
  REQUIRE(together.total() == e2el);
  require_by_request_sums(together);
}

template <class Draw, class Check>
void for_runs(const Draw& draw, const Check& check) {
  for (int i = 0; i < sample(scenarios); ++i) {
    const std::string yaml = draw(static_cast<std::uint64_t>(i));
    INFO(yaml);
    Scenario scenario = parse_scenario("random.yaml", yaml);
    RunLog log;
    const RunResult result = run(scenario, {}, &log);
    check(Evidence(log, result));
  }
}

/// Every gap, and the parts of the excess, sum to the whole.
void require_sums(const Evidence& evidence) {
  for (const Latency latency : {Latency::ttft, Latency::tpot, Latency::itl, Latency::e2el}) {
    const Explanation e = explain(evidence, {.latency = latency, .class_index = {}});
    if (!e.p99) continue;
    Duration excess{};
    for (const ExcessShare& share : e.shares) excess += share.excess;
    REQUIRE(excess == e.excess);
    for (const Side* side : {&e.tail, &e.typical}) {
      REQUIRE(side->blame.total() == side->time);
      Duration placed{};
      for (const auto& [instance, time] : side->blame.by_instance) placed += time;
      REQUIRE(placed <= side->time);  // Refused requests are nowhere.
    }
    REQUIRE(5 * e.inside >= 4 * e.tail.time);
    // Rounded down from the exact difference of the means.
    const double exact =
        static_cast<double>(e.tail.time.count()) / static_cast<double>(e.tail.tokens) -
        static_cast<double>(e.typical.time.count()) / static_cast<double>(e.typical.tokens);
    REQUIRE(static_cast<double>(e.excess.count()) == Approx(exact).margin(1.01));
  }
}

/// Where every attempt came to its end the gaps are those of the run's histograms.
void require_gaps(const Evidence& evidence) {
  const RunResult& result = evidence.run();
  if (!std::ranges::all_of(result.log.records, [](const RequestRecord& r) {
        return r.outcome == Outcome::completed && r.retries == 0;
      }))
    return;
  stats::Histogram gaps;
  for (const stats::Histogram& one : result.log.token_gaps) gaps.merge(one);
  const Samples samples(evidence, Latency::itl, {});
  REQUIRE(samples.count() == gaps.count());
  if (samples.count() == 0) return;
  REQUIRE(samples.at_percent(100).value == gaps.max());
  REQUIRE(to_seconds(samples.at_percent(99).value).value() ==
          Approx(gaps.quantile(0.99)->value()).epsilon(0.005));
}

}  // namespace

TEST_CASE("the observed steps give every part of every request's ledger, and of its tail",
          "[why]") {
  Coverage coverage;
  for_runs(random_scenario, [&](const Evidence& evidence) {
    look(evidence, coverage);
    require_sums(evidence);
    require_gaps(evidence);
  });
  if (sanitized) return;  // A quarter of the sample shows less.
  CHECK(coverage.requests > 500);
  CHECK(coverage.waits > 0);
  CHECK(coverage.stalled > 0);
  CHECK(coverage.preempted > 0);
  CHECK(coverage.recomputed > 0);
  CHECK(coverage.restarted > 0);
  CHECK(coverage.pipelined > 0);
}

TEST_CASE("the observed steps give the ledgers of requests that swap, or load KV from tiers",
          "[why]") {
  Coverage coverage;
  int swapped = 0;
  for_runs(random_crowded_scenario, [&](const Evidence& evidence) {
    look(evidence, coverage);
    require_sums(evidence);
    require_gaps(evidence);
    for (const LoggedEvent& event : evidence.log().events())
      swapped += event.event == SequenceEvent::swapped_in;
  });
  if (sanitized) return;
  CHECK(swapped > 5);
  CHECK(coverage.moved > 100);
}

TEST_CASE("the observed steps give the ledgers of requests that are handed over", "[why]") {
  Coverage coverage;
  for_runs(random_pools, [&](const Evidence& evidence) {
    look(evidence, coverage);
    require_sums(evidence);
    require_gaps(evidence);
  });
  if (sanitized) return;
  CHECK(coverage.moved > 100);
}
