// Where the time of faster and slower requests went, and who is behind it.
#include "sim/report/ledger_bands.hpp"

#include <catch2/catch.hpp>
#include <numeric>

#include "sim/report/latency_curves.hpp"
#include "sim/report/summary.hpp"
#include "tests/unit/report/builders.hpp"

using namespace tokenline;
using namespace tokenline::report;

namespace {

/// Requests of TTFT 2, 4, … 2n ms, half of it waiting for KV blocks, the slowest first.
RunResult run_of_requests(std::int64_t n) {
  RunResult run = run_of({"chat", "batch"});
  for (std::int64_t i = 0; i < n; ++i)
    run.log.records.push_back(completed({.arrival = ms(i),
                                         .ttft = ms(2 * (n - i)),
                                         .e2el = ms(1000),
                                         .class_index = static_cast<std::uint32_t>(i % 2)}));
  return run;
}

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

constexpr auto kv = static_cast<std::size_t>(Part::wait_kv_blocks);

}  // namespace

TEST_CASE("bands are cut at the nearest ranks of P50, P90 and P99", "[report]") {
  const auto ledgers = ledger_bands(run_of_requests(1000));
  REQUIRE(ledgers.size() == 3);
  CHECK(ledgers[0].name == "all");
  const std::vector<LedgerBand>& bands = ledgers[0].ttft.bands;
  REQUIRE(bands.size() == 5);
  // TTFT is twice the rank, in milliseconds.
  CHECK(bands[0].requests == 1000);
  CHECK(bands[1].requests == 499);
  CHECK(bands[2].least_ms == 1000.0);
  CHECK(bands[3].least_ms == 1800.0);
  CHECK(bands[4].least_ms == 1980.0);
  CHECK(bands[4].most_ms == 2000.0);
  CHECK(sum(bands[4].mean_ms) == Approx(1990.0));
  CHECK(bands[4].mean_ms[kv] == Approx(995.0));
}

TEST_CASE("bands hold every request once and their means add up to the mean", "[report]") {
  for (const std::int64_t n : {1, 2, 3, 99, 100, 101}) {
    const RunResult run = run_of_requests(n);
    const auto bands = ledger_bands(run).front().ttft.bands;
    std::int64_t requests = 0;
    double total = 0.0;
    for (std::size_t i = 1; i < bands.size(); ++i) {
      requests += bands[i].requests;
      total += static_cast<double>(bands[i].requests) * sum(bands[i].mean_ms);
    }
    CHECK(requests == n);
    CHECK(total == Approx(static_cast<double>(n) * sum(bands[0].mean_ms)));
    CHECK(bands[0].mean_ms == summarize_classes(run, std::nullopt).front().ttft.mean_ms);
  }
}

TEST_CASE("the slowest band begins with the request that the summary splits", "[report]") {
  const RunResult run = run_of_requests(250);
  const ClassSummary all = summarize_classes(run, std::nullopt).front();
  CHECK(ledger_bands(run).front().ttft.bands.back().least_ms == Approx(sum(all.ttft.p99_ms)));
}

TEST_CASE("behind a part stand those that lost most to it", "[report]") {
  RunResult run = run_of_requests(100);
  run.log.records[70].ttft_parts[Part::wait_kv_blocks] += ms(1000);
  run.log.records[70].ttft_parts[Part::own_prefill] -= ms(1000);
  const LedgerBand all = ledger_bands(run).front().ttft.bands.front();
  REQUIRE(all.behind[kv].size() == LedgerSplit::behind_limit);
  CHECK(all.behind[kv][0] == 70);
  CHECK(all.behind[kv][1] == 0);
  CHECK(all.behind[kv][9] == 8);
  CHECK(all.behind[static_cast<std::size_t>(Part::preempted)].empty());
}

TEST_CASE("failed and unmeasured requests are in no band, nor in a curve", "[report]") {
  RunResult run = run_of_requests(10);
  run.log.records.push_back(lost(ms(5), ms(7)));
  run.log.records[0].measured = false;
  CHECK(ledger_bands(run).front().ttft.bands.front().requests == 9);
  CHECK(latency_curves(run).front().ttft.samples == 9);
  const RunResult none = run_of({"chat"});
  CHECK(ledger_bands(none).front().ttft.bands.empty());
  CHECK(latency_curves(none).front().ttft.points.empty());
  CHECK_FALSE(tail_interval(none));
}

TEST_CASE("the tail arrived in the shortest interval that holds nine of ten", "[report]") {
  // 10 of 1000 requests are slow: nine from 100 s to 108 s, and one at 500 s.
  RunResult run = run_of({"chat"});
  for (std::int64_t i = 0; i < 1000; ++i) {
    const bool slow = (i >= 100 && i < 109) || i == 500;
    run.log.records.push_back(
        completed({.arrival = ms(1000 * i), .ttft = ms(slow ? 5000 : 10), .e2el = ms(6000)}));
  }
  // P99 is at rank 990, so that the last of the fast ones belongs to the tail.
  const auto tail = tail_interval(run);
  REQUIRE(tail);
  CHECK(tail->arrivals.size() == 11);
  CHECK(tail->from == TimePoint{} + ms(100'000));
  CHECK(tail->to >= TimePoint{} + ms(108'000));
}

TEST_CASE("a curve begins with the smallest sample and ends with the largest", "[report]") {
  std::vector<double> samples(10'000);
  std::iota(samples.begin(), samples.end(), 1.0);
  const LatencyCurve all = curve(samples);
  CHECK(all.samples == 10'000);
  CHECK(all.points.front().ms == 1.0);
  CHECK(all.points.back().ms == 10'000.0);
  CHECK(all.points.size() < 150);
  // Sample i is the i-th smallest: 10,001 − i are at least as slow.
  for (const CurvePoint& point : all.points)
    CHECK(point.ms == 10'001.0 - static_cast<double>(point.slower));
  // No sixteenth of the samples beyond any point is left out at once.
  for (std::size_t i = 1; i < all.points.size(); ++i)
    CHECK(16 * (all.points[i - 1].slower - all.points[i].slower) <=
          std::max<std::int64_t>(16, all.points[i - 1].slower));
}

TEST_CASE("of few samples a curve has all", "[report]") {
  const LatencyCurve few = curve({3.0, 1.0, 2.0});
  REQUIRE(few.points.size() == 3);
  CHECK(few.points[0].ms == 1.0);
  CHECK(few.points[0].slower == 3);
  CHECK(few.points[2].ms == 3.0);
  CHECK(few.points[2].slower == 1);
}
