#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/engine/run.hpp"
#include "sim/stats/histogram.hpp"
#include "tests/support/random_scenario.hpp"
#include "tests/support/slow_engine.hpp"

using namespace tokenline;
using namespace tokenline::test;

namespace {

/// How many runs of the sample showed something worth comparing.
struct Coverage {
  int preempted = 0;
  int found_again = 0;
  int found_in_part = 0;
  int given = 0;
  int shared = 0;
  int loaded = 0;
  int loaded_again = 0;
  int loaded_from_drives = 0;
  int queued_loads = 0;
  int lost_loads = 0;
  int swapped = 0;
  int no_swap_space = 0;
  int lost_swapped = 0;
  int crashed = 0;
  int retried = 0;
  int lost = 0;
  int held = 0;
  int partial = 0;
  int contiguous = 0;
  int overlapped = 0;
  int unseen = 0;
  int speculated = 0;
  int pipelined = 0;
  int chained = 0;
  int reordered = 0;
  int rejected = 0;
  int timed_out = 0;
  int came_again = 0;
  int aborted_waiting = 0;
  int aborted_running = 0;
  int in_vain = 0;
  int failed = 0;
  int failed_again = 0;
  int lost_to_faults = 0;
  int slowed = 0;
  int in_brownouts = 0;
  int given_again = 0;

  void add(const Scenario& scenario, const SlowRun& run) {
    const auto any = [&](auto condition) { return std::ranges::any_of(run.records, condition); };
    preempted += run.counts.preemptions > 0;
    found_again += run.counts.found_again > 0;
    found_in_part += run.counts.found_in_part > 0;
    given += run.counts.given > 0;
    shared += run.counts.shared > 0;
    loaded += run.counts.loaded > 0;
    loaded_again += run.counts.loaded_again > 0;
    loaded_from_drives += run.counts.loaded > 0 && scenario.engine.offload_nvme > Bytes();
    queued_loads += run.counts.queued_loads > 0;
    lost_loads += run.counts.lost_loads > 0;
    swapped += run.counts.swapped_in > 0;
    no_swap_space += run.counts.no_swap_space > 0;
    lost_swapped += run.counts.lost_swapped > 0;
    crashed += run.counts.crashes > 0;
    retried += any([](const auto& r) { return r.retries > 0 && r.outcome == Outcome::completed; });
    lost += any([](const auto& r) { return r.outcome == Outcome::lost_oom; });
    held += run.counts.held_rows > 0;
    partial += run.counts.partial_pieces > 0;
    overlapped += run.counts.gpu_bound > 0;
    unseen += run.counts.unseen > 0;
    speculated += run.counts.rejections > 0;
    pipelined += run.counts.overlapping > 0;
    chained += run.counts.chained_pieces > 0;
    reordered += run.counts.reordered > 0;
    rejected += any([](const auto& r) { return r.outcome == Outcome::rejected; });
    timed_out += any([](const auto& r) { return r.outcome == Outcome::timed_out; });
    came_again += run.counts.crashes == 0 && any([](const auto& r) {
                    return r.retries > 0 && r.outcome == Outcome::completed;
                  });
    aborted_waiting += run.counts.aborts_waiting > 0;
    aborted_running += run.counts.aborts_running > 0;
    in_vain += run.counts.in_vain > 0;
    failed += run.counts.failures > 0;
    failed_again += run.counts.cut_restarts > 0;
    lost_to_faults += any([](const auto& r) { return r.outcome == Outcome::lost_crash; });
    slowed += run.counts.slow_steps > 0;
    in_brownouts += run.counts.brownout_steps > 0;
    given_again += run.counts.given_again > 0;
    contiguous += scenario.engine.kv_layout == KvLayout::contiguous;
  }
};

std::string describe(const RequestRecord& r) {
  const auto at = [](TimePoint t) { return t.time_since_epoch().count(); };
  std::string text = fmt::format(
      "{}+{} tokens of class {} on replica {}: arrival {}, first token {}, finish {}, outcome {}, "
      "preemptions {}, retries {}, recomputed {}, measured {}",
      r.prompt_tokens, r.output_tokens, r.class_index, r.instance, at(r.arrival), at(r.first_token),
      at(r.finish), name(r.outcome), r.preemptions, r.retries, r.recomputed_tokens, r.measured);
  for (std::size_t i = 0; i < part_count; ++i) {
    const Part part = static_cast<Part>(i);
    if (r.parts[part] != Duration{})
      text += fmt::format(", {} {}", name(part), r.parts[part].count());
    if (i < ttft_part_count && r.ttft_parts[part] != Duration{})
      text += fmt::format(" (ttft {})", r.ttft_parts[part].count());
  }
  return text;
}

void require_same_records(const RunResult& fast, const SlowRun& slow) {
  REQUIRE(fast.log.records.size() == slow.records.size());
  for (std::size_t i = 0; i < slow.records.size(); ++i) {
    if (fast.log.records[i] == slow.records[i]) continue;
    FAIL("request " << i << "\nfast: " << describe(fast.log.records[i])
                    << "\nslow: " << describe(slow.records[i]));
  }
}

/// What requests found in the prefix cache; a run that has none keeps no such numbers.
void require_same_cached_tokens(const RunResult& fast, const SlowRun& slow) {
  if (fast.log.cached_tokens.empty())
    REQUIRE(std::ranges::count(slow.cached_tokens, 0) == std::ssize(slow.cached_tokens));
  else
    for (std::size_t i = 0; i < slow.cached_tokens.size(); ++i) {
      CAPTURE(i, describe(slow.records[i]));
      REQUIRE(fast.log.cached_tokens[i] == slow.cached_tokens[i]);
    }
}

/// Count, mean, deviation and largest value of the engine's histogram come from integers, so a
/// histogram filled gap by gap must have the same bits.
void require_same_gaps(const RunResult& fast, const SlowRun& slow) {
  REQUIRE(fast.log.token_gaps.size() == slow.token_gaps.size());
  for (std::size_t i = 0; i < slow.token_gaps.size(); ++i) {
    stats::Histogram expected;
    for (const Duration gap : slow.token_gaps[i]) expected.add(gap);
    const stats::Histogram& actual = fast.log.token_gaps[i];
    CAPTURE(i);
    REQUIRE(actual.count() == expected.count());
    REQUIRE(actual.mean() == expected.mean());
    REQUIRE(actual.standard_deviation() == expected.standard_deviation());
    REQUIRE(actual.max() == expected.max());
    for (const double q : {0.0, 0.25, 0.5, 0.75, 0.99})
      REQUIRE(actual.quantile(q) == expected.quantile(q));
  }
}

void require_same_counters(const RunResult& fast, const SlowRun& slow) {
  std::int64_t steps = 0;
  std::int64_t preemptions = 0;
  std::int64_t restarts = 0;
  for (const InstanceResult& instance : fast.instances) {
    steps += instance.whole.steps;
    preemptions += instance.whole.preemptions;
    restarts += instance.whole.restarts;
  }
  REQUIRE(steps == slow.counts.steps);
  REQUIRE(preemptions == slow.counts.preemptions);
  REQUIRE(restarts == slow.counts.crashes);
}

void require_audits_pass(const RunResult& result) {
  for (const AuditCheck& check : result.audit.checks) {
    INFO(check.id << " " << check.name << ": " << check.details);
    REQUIRE(check.passed);
  }
  REQUIRE(result.audit.passed);
}

void compare(const std::string& yaml, Coverage& coverage) {
  INFO("scenario:\n" << yaml);
  Scenario for_fast = parse_scenario("random.yaml", yaml);
  Scenario for_slow = parse_scenario("random.yaml", yaml);
  const RunResult fast = run(for_fast);
  const SlowRun slow = run_slowly(for_slow);
  require_same_cached_tokens(fast, slow);
  require_same_records(fast, slow);
  require_same_gaps(fast, slow);
  require_same_counters(fast, slow);
  require_audits_pass(fast);
  coverage.add(for_slow, slow);
}

}  // namespace

TEST_CASE("the engine gives every request the record that walking every sequence gives it") {
  constexpr int runs = sample(1000);
  Coverage coverage;
  for (std::uint64_t seed = 1; seed <= runs; ++seed) compare(random_scenario(seed), coverage);
  if (sanitized) return;  // A quarter of the sample shows less.
  CHECK(coverage.preempted >= runs / 12);
  CHECK(coverage.found_again >= runs / 30);
  CHECK(coverage.found_in_part >= runs / 50);
  CHECK(coverage.given >= runs / 6);
  CHECK(coverage.shared >= runs / 8);
  CHECK(coverage.crashed >= runs / 10);
  CHECK(coverage.retried >= runs / 30);
  CHECK(coverage.lost >= runs / 20);
  CHECK(coverage.held >= runs / 12);
  CHECK(coverage.partial >= runs / 10);
  CHECK(coverage.contiguous >= runs / 10);
  CHECK(coverage.overlapped >= runs / 10);
  CHECK(coverage.unseen >= runs / 10);
  CHECK(coverage.speculated >= runs / 10);
  CHECK(coverage.pipelined >= runs / 10);
  CHECK(coverage.chained >= runs / 30);
  CHECK(coverage.reordered >= runs / 5);
  CHECK(coverage.rejected >= runs / 5);
  CHECK(coverage.timed_out >= runs / 5);
  CHECK(coverage.came_again >= runs / 20);
  CHECK(coverage.aborted_waiting >= runs / 10);
  CHECK(coverage.aborted_running >= runs / 10);
  CHECK(coverage.in_vain >= runs / 20);
  CHECK(coverage.failed >= runs / 10);
  CHECK(coverage.failed_again >= runs / 100);
  CHECK(coverage.lost_to_faults >= runs / 50);
  CHECK(coverage.slowed >= runs / 10);
  CHECK(coverage.in_brownouts >= runs / 10);
  CHECK(coverage.given_again >= runs / 30);
}

TEST_CASE("what lies behind a small pool changes records as walking every sequence says") {
  constexpr int runs = sample(250);
  Coverage coverage;
  for (std::uint64_t seed = 1; seed <= runs; ++seed)
    compare(random_crowded_scenario(seed), coverage);
  if (sanitized) return;
  CHECK(coverage.loaded >= runs / 6);
  CHECK(coverage.loaded_again >= runs / 15);
  CHECK(coverage.loaded_from_drives >= runs / 10);
  CHECK(coverage.queued_loads >= runs / 10);
  CHECK(coverage.lost_loads >= runs / 125);
  CHECK(coverage.swapped >= runs / 25);
  CHECK(coverage.no_swap_space >= runs / 30);
  CHECK(coverage.lost_swapped >= runs / 150);
}
