#include "sim/report/class_summary.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "tests/unit/report/builders.hpp"

using namespace tokenline;
using namespace tokenline::report;
using namespace std::chrono_literals;

namespace {

std::optional<double> value(const ClassSummary& summary, std::string_view key) {
  const Figure* figure = summary.figures.find(key);
  REQUIRE(figure != nullptr);
  return figure->value;
}

/// TTFT 100, 200, … n·100 ms; E2E twice that; 11 output tokens; one request per second.
RunResult ladder(int n) {
  RunResult run = run_of({"chat"});
  for (int i = 1; i <= n; ++i)
    run.log.records.push_back(
        completed({.arrival = 1s * i, .ttft = ms(100) * i, .e2el = ms(200) * i}));
  return run;
}

}  // namespace

TEST_CASE("latencies of a class are those of numpy over its completed requests", "[report]") {
  const int n = 10;
  const auto chat = summarize_classes(ladder(n), {}).at(1);
  // Of 1 … n: mean (n + 1)/2, variance (n² − 1)/12, percentile q at 1 + q (n − 1).
  CHECK(value(chat, "mean_ttft_ms") == Approx(100.0 * (n + 1) / 2));
  CHECK(value(chat, "std_ttft_ms") == Approx(100.0 * std::sqrt((n * n - 1) / 12.0)));
  CHECK(value(chat, "median_ttft_ms") == Approx(100.0 * (1 + 0.50 * (n - 1))));
  CHECK(value(chat, "p90_ttft_ms") == Approx(100.0 * (1 + 0.90 * (n - 1))));
  CHECK(value(chat, "p95_ttft_ms") == Approx(100.0 * (1 + 0.95 * (n - 1))));
  CHECK(value(chat, "p99_ttft_ms") == Approx(100.0 * (1 + 0.99 * (n - 1))));
  CHECK(value(chat, "mean_e2el_ms") == Approx(200.0 * (n + 1) / 2));
  // TPOT = (E2E − TTFT) / (output − 1), with 11 output tokens.
  CHECK(value(chat, "mean_tpot_ms") == Approx(100.0 * (n + 1) / 2 / (11 - 1)));
}

TEST_CASE("throughput counts completed requests until the last of any finished", "[report]") {
  RunResult run = ladder(10);
  run.log.records.push_back(lost(10s, 10s));
  const auto chat = summarize_classes(run, {}).at(1);
  const double duration = 20.0 - 1.0;
  CHECK(value(chat, "offered") == 11.0);
  CHECK(value(chat, "completed") == 10.0);
  CHECK(value(chat, "failed") == 1.0);
  CHECK(value(chat, "lost_oom") == 1.0);
  CHECK(value(chat, "rejected") == 0.0);
  CHECK(value(chat, "retries") == 2.0);
  CHECK(value(chat, "duration_s") == Approx(duration));
  CHECK(value(chat, "total_input_tokens") == 10.0 * 10);
  CHECK(value(chat, "total_output_tokens") == 10.0 * 11);
  CHECK(value(chat, "request_throughput") == Approx(10.0 / duration));
  CHECK(value(chat, "output_throughput") == Approx(110.0 / duration));
  CHECK(value(chat, "total_token_throughput") == Approx(210.0 / duration));
}

TEST_CASE("failed requests are those lost, those refused and those given up", "[report]") {
  RunResult run = ladder(10);
  run.log.records.push_back(lost(10s, 10s));
  for (const Outcome cause : {Outcome::lost_crash, Outcome::timed_out, Outcome::timed_out}) {
    run.log.records.push_back(lost(10s, 10s));
    run.log.records.back().outcome = cause;
  }
  for (int i = 0; i < 3; ++i) run.log.records.push_back(rejected(3s));
  const auto chat = summarize_classes(run, {}).at(1);
  CHECK(value(chat, "offered") == 17.0);
  CHECK(value(chat, "completed") == 10.0);
  CHECK(value(chat, "failed") == 7.0);
  CHECK(value(chat, "lost_crash") == 1.0);
  CHECK(value(chat, "timed_out") == 2.0);
  CHECK(value(chat, "lost_oom") == 1.0);
  CHECK(value(chat, "rejected") == 3.0);
}

TEST_CASE("only measured requests count, and their time begins with the window", "[report]") {
  RunResult run = ladder(10);
  for (RequestRecord& record : run.log.records)
    record.measured = record.arrival >= TimePoint{} + 6s;
  const MeasureWindow window{.from = TimePoint{} + 5500ms, .to = {}};
  const auto chat = summarize_classes(run, window).at(1);
  CHECK(value(chat, "offered") == 5.0);
  CHECK(value(chat, "mean_ttft_ms") == Approx(800.0));
  CHECK(value(chat, "duration_s") == Approx(12.0 - 5.5));
}

TEST_CASE("nothing measured is empty, never zero", "[report]") {
  for (const ClassSummary& summary : summarize_classes(run_of({"chat"}), {})) {
    for (const Figure& figure : summary.figures.all())
      if (figure.whole)
        CHECK(figure.value == 0.0);
      else
        CHECK_FALSE(figure.value);
    CHECK(summary.ttft.mean_ms.empty());
    CHECK(summary.e2el.p99_ms.empty());
  }
}

TEST_CASE("a class whose requests were all lost has a duration but no latency", "[report]") {
  RunResult run = run_of({"chat"});
  run.log.records.push_back(lost(0s, 4s));
  const auto chat = summarize_classes(run, {}).at(1);
  CHECK(value(chat, "duration_s") == Approx(4.0));
  CHECK(value(chat, "request_throughput") == 0.0);
  CHECK_FALSE(value(chat, "mean_ttft_ms"));
}

TEST_CASE("a single output token has no time per output token", "[report]") {
  RunResult run = run_of({"chat"});
  run.log.records.push_back(completed({.ttft = ms(10), .e2el = ms(10), .output_tokens = 1}));
  const auto chat = summarize_classes(run, {}).at(1);
  CHECK(value(chat, "mean_ttft_ms") == Approx(10.0));
  CHECK_FALSE(value(chat, "mean_tpot_ms"));
}

TEST_CASE("goodput counts requests that meet every target given", "[report]") {
  RunResult run = ladder(10);  // finishes at 1.2, 2.4, … 12 s
  run.classes[0].slo = {.ttft = ms(700), .tpot = {}, .e2el = ms(1200)};
  const auto chat = summarize_classes(run, {}).at(1);
  CHECK(chat.has_targets);
  CHECK(value(chat, "goodput_fraction") == Approx(6.0 / 10));
  CHECK(value(chat, "request_goodput") == Approx(6.0 / 11.0));
}

TEST_CASE("a target met exactly is met, and no rounding decides about TPOT", "[report]") {
  RunResult run = run_of({"chat"});
  // 10 gaps in 100 ms − 0, +1 ns.
  run.log.records.push_back(completed({.ttft = ms(5), .e2el = ms(105)}));
  run.log.records.push_back(completed({.ttft = ms(5), .e2el = ms(105) + 1ns}));
  run.classes[0].slo.tpot = ms(10);
  CHECK(value(summarize_classes(run, {}).at(1), "goodput_fraction") == 0.5);
}

TEST_CASE("a lost request is not good, and without targets there is no goodput", "[report]") {
  RunResult run = ladder(1);
  run.log.records.push_back(lost(1s, 1s));
  CHECK_FALSE(value(summarize_classes(run, {}).at(1), "request_goodput"));
  CHECK_FALSE(value(summarize_classes(run, {}).at(1), "goodput_fraction"));
  run.classes[0].slo.ttft = 1s;
  CHECK(value(summarize_classes(run, {}).at(1), "goodput_fraction") == 0.5);
}

TEST_CASE("the class all holds every class, and its goodput is about classes with targets",
          "[report]") {
  RunResult run = run_of({"chat", "batch"});
  run.classes[0].slo.ttft = ms(150);
  for (const int i : {1, 2}) {
    run.log.records.push_back(completed({.ttft = ms(100) * i, .e2el = 1s}));
    run.log.records.push_back(completed({.ttft = ms(1000) * i, .e2el = 3s, .class_index = 1}));
  }
  const auto classes = summarize_classes(run, {});
  REQUIRE(classes.size() == 3);
  CHECK(classes[0].name == "all");
  CHECK(value(classes[0], "completed") == 4.0);
  CHECK(value(classes[0], "mean_ttft_ms") == Approx((100.0 + 200 + 1000 + 2000) / 4));
  CHECK(value(classes[0], "goodput_fraction") == 0.5);
  CHECK_FALSE(value(classes[2], "goodput_fraction"));
}

TEST_CASE("inter-token latency comes from the histograms, merged for 'all'", "[report]") {
  RunResult run = run_of({"chat", "batch"});
  run.log.token_gaps[0].add(ms(20), 3);
  run.log.token_gaps[1].add(ms(60), 1);
  const auto classes = summarize_classes(run, {});
  CHECK(value(classes[0], "mean_itl_ms") == Approx((3 * 20.0 + 60.0) / 4));
  CHECK(value(classes[0], "std_itl_ms") == Approx(std::sqrt(3.0) / 4 * 40.0));
  CHECK(value(classes[0], "median_itl_ms") == Approx(20.0).epsilon(0.004));
  CHECK(value(classes[0], "max_itl_ms") == 60.0);
  CHECK(value(classes[1], "max_itl_ms") == 20.0);
}

TEST_CASE("ledger means sum to the mean latency, and P99 parts to one request's", "[report]") {
  const int n = 250;
  const auto chat = summarize_classes(ladder(n), {}).at(1);
  const auto sum = [](const std::vector<double>& parts) {
    return std::accumulate(parts.begin(), parts.end(), 0.0);
  };
  REQUIRE(chat.ttft.mean_ms.size() == ttft_part_count);
  REQUIRE(chat.e2el.mean_ms.size() == part_count);
  CHECK(sum(chat.ttft.mean_ms) == Approx(*value(chat, "mean_ttft_ms")));
  CHECK(sum(chat.e2el.mean_ms) == Approx(*value(chat, "mean_e2el_ms")));
  // Nearest rank: ⌈0.99 · 250⌉ = 248.
  CHECK(sum(chat.ttft.p99_ms) == 100.0 * 248);
  CHECK(sum(chat.e2el.p99_ms) == 200.0 * 248);
}

TEST_CASE("the largest parts come first, with their shares, without the zeros", "[report]") {
  std::vector<double> parts(part_count, 0.0);
  parts[static_cast<std::size_t>(Part::own_prefill)] = 1.0;
  parts[static_cast<std::size_t>(Part::decode_floor)] = 3.0;
  const auto shares = largest_parts(parts);
  REQUIRE(shares.size() == 2);
  CHECK(shares[0].part == Part::decode_floor);
  CHECK(shares[0].fraction == 0.75);
  CHECK(shares[1].amount_ms == 1.0);
  CHECK(largest_parts({}).empty());
}
