#include "sim/report/baseline.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "sim/report/metric.hpp"
#include "sim/report/run_directory.hpp"
#include "sim/report/test_report.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/report/builders.hpp"

using namespace tokenline;
using namespace tokenline::report;
using Catch::Contains;
using Moved = MetricChange::Verdict;

namespace {

/// Class "chat", whose requests take `ttft` to their first token; `lost` of them get none.
Summary chat(Duration ttft, int requests = 4, int lost_ones = 0) {
  RunResult run = run_of({"chat"});
  for (int i = 0; i < requests; ++i)
    run.log.records.push_back(completed({.ttft = ttft, .e2el = ttft + ms(200)}));
  for (int i = 0; i < lost_ones; ++i) run.log.records.push_back(lost(ms(1), ms(5)));
  Summary summary;
  summary.scenario = "s";
  summary.seed = 42;
  summary.classes = summarize_classes(run, {});
  return summary;
}

Scenario small() { return parse_scenario("s.yaml", std::string(small_scenario)); }

/// Holds `now` against `before` through the file that a run writes.
BaselineComparison held(const Summary& now, const Summary& before,
                        const std::vector<std::string>& tolerances = {}) {
  const Scratch folder;
  write_file(folder / "summary.json", summary_json(before));
  std::vector<Tolerance> read;
  for (const std::string& text : tolerances) read.push_back(read_tolerance(small(), text));
  return compare_to_baseline(load_baseline(folder.path()), now, read);
}

Moved verdict(const BaselineComparison& comparison, const std::string& metric) {
  for (const MetricChange& change : comparison.metrics)
    if (change.metric == metric) return change.verdict;
  FAIL("not compared: " << metric);
  return Moved::within;
}

std::string tolerance_mistake(const std::string& text) {
  try {
    static_cast<void>(read_tolerance(small(), text));
  } catch (const config::ConfigError& e) {
    return e.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a run is within any tolerance of itself", "[report][baseline]") {
  const BaselineComparison comparison = held(chat(ms(100)), chat(ms(100)));
  CHECK(comparison.passed());
  CHECK(comparison.differences.empty());
  CHECK(comparison.metrics.size() > 40);
  for (const MetricChange& change : comparison.metrics) CHECK(change.verdict == Moved::within);
}

TEST_CASE("a latency is worse above its tolerance, better below it, and within at it",
          "[report][baseline]") {
  const std::string metric = "chat.mean_ttft_ms";
  // 100 ms and 10 %: 90 to 110 ms, both included.
  const std::vector<std::string> tenth{"10%"};
  CHECK(verdict(held(chat(ms(110)), chat(ms(100)), tenth), metric) == Moved::within);
  CHECK(verdict(held(chat(ms(111)), chat(ms(100)), tenth), metric) == Moved::worse);
  CHECK(verdict(held(chat(ms(90)), chat(ms(100)), tenth), metric) == Moved::within);
  CHECK(verdict(held(chat(ms(89)), chat(ms(100)), tenth), metric) == Moved::better);
}

TEST_CASE("more answers are better, more failures worse", "[report][baseline]") {
  const BaselineComparison more = held(chat(ms(100), 5), chat(ms(100), 4));
  CHECK(verdict(more, "chat.completed") == Moved::better);
  const BaselineComparison fewer = held(chat(ms(100), 4, 1), chat(ms(100), 4));
  CHECK(verdict(fewer, "chat.failed") == Moved::worse);
  CHECK_FALSE(fewer.passed());
  CHECK(held(chat(ms(100), 4, 1), chat(ms(100), 4), {"99%", "failed=1", "lost_oom=1", "retries=2"})
            .passed());
}

TEST_CASE("what is better passes unless that is asked to fail", "[report][baseline]") {
  BaselineComparison comparison = held(chat(ms(50)), chat(ms(100)), {"5%"});
  CHECK(comparison.passed());
  comparison.better_fails = true;
  CHECK_FALSE(comparison.passed());
}

TEST_CASE("of tolerances the most particular counts", "[report][baseline]") {
  const auto mean = [](const std::vector<std::string>& tolerances) {
    return verdict(held(chat(ms(120)), chat(ms(100)), tolerances), "chat.mean_ttft_ms");
  };
  CHECK(mean({"5%"}) == Moved::worse);
  CHECK(mean({"5%", "mean_ttft=20%"}) == Moved::within);
  CHECK(mean({"mean_ttft=20%", "5%"}) == Moved::within);
  CHECK(mean({"mean_ttft=30%", "mean_ttft(chat)=19 ms"}) == Moved::worse);
  CHECK(mean({"chat.mean_ttft_ms=20 ms"}) == Moved::within);
}

TEST_CASE("a metric or a class that one side lacks is missing, and fails", "[report][baseline]") {
  const Summary none = chat(ms(100), 0, 2);  // Nothing completed: no latency.
  const BaselineComparison gone = held(none, chat(ms(100)), {"1000%"});
  CHECK(verdict(gone, "chat.p99_ttft_ms") == Moved::missing);
  CHECK(verdict(held(chat(ms(100)), none, {"1000%"}), "chat.p99_ttft_ms") == Moved::missing);
  Summary renamed = chat(ms(100));
  renamed.classes.back().name = "other";
  const BaselineComparison moved = held(renamed, chat(ms(100)), {"1000%"});
  CHECK(verdict(moved, "chat.completed") == Moved::missing);
  CHECK(verdict(moved, "other.completed") == Moved::missing);
  CHECK_FALSE(moved.passed());
  CHECK_THAT(baseline_text(moved), Contains("chat.completed") && Contains("missing"));
}

TEST_CASE("scenario, seed, configuration and traffic that differ are named, and fail nothing",
          "[report][baseline]") {
  Summary now = chat(ms(100), 5);
  now.scenario = "t";
  now.seed = 7;
  now.config_sha256 = "abc";
  const BaselineComparison comparison = held(now, chat(ms(100), 4), {"100%"});
  const std::string text = baseline_text(comparison);
  CHECK_THAT(text, Contains("not the same: scenario s, now t"));
  CHECK_THAT(text, Contains("not the same: seed 42, now 7"));
  CHECK_THAT(text, Contains("not the same: config_sha256 , now abc"));
  CHECK_THAT(text, Contains("not the same: chat.offered 4, now 5"));
  CHECK(comparison.passed());
}

TEST_CASE("a metric without a good side is compared when it is named, both ways",
          "[report][baseline]") {
  const std::string metric = "chat.total_input_tokens";
  const BaselineComparison unasked = held(chat(ms(9), 5), chat(ms(9), 4));
  for (const MetricChange& change : unasked.metrics) CHECK(change.metric != metric);
  const std::vector<std::string> asked{"100%", "total_input_tokens=10%"};
  CHECK(verdict(held(chat(ms(9), 5), chat(ms(9), 4), asked), metric) == Moved::worse);
  CHECK(verdict(held(chat(ms(9), 4), chat(ms(9), 5), asked), metric) == Moved::worse);
}

TEST_CASE("tolerances that cannot be meant are mistakes with a hint", "[report][baseline]") {
  CHECK_THAT(tolerance_mistake("p99_tfft=5%"),
             Contains("--tolerance p99_tfft=5%:1:1: error: ") && Contains("p99_ttft_ms"));
  for (const char* text : {"5", "-5%", "x%", "p99_ttft=", "p99_ttft=-1 ms", "p99_ttft=3/s", "%"})
    CHECK_THAT(tolerance_mistake(text), Contains("no tolerance"));
}

TEST_CASE("a baseline is a summary of ours and nothing else", "[report][baseline]") {
  const Scratch folder;
  write_file(folder / "x.json", R"({"classes": {}})");
  CHECK_THROWS_WITH(load_baseline(folder / "x.json"), Contains("not the summary of a run"));
  CHECK_THROWS_WITH(load_baseline(folder / "none.json"), Contains("none.json:1:1: error: "));
}

TEST_CASE("annotations escape what would end them", "[report][baseline]") {
  TestSuite suite{.name = "a,b:c%", .file = "d:/s.yaml", .config_sha256 = {}, .cases = {}};
  suite.cases.push_back({.group = "assert",
                         .name = "passes",
                         .message = {},
                         .details = {},
                         .where = {"s.yaml", 3, 1}});
  suite.cases.push_back({.group = "assert",
                         .name = "x < 1",
                         .outcome = TestCase::Outcome::failed,
                         .message = "95 %, a:b\r\nnext",
                         .details = {},
                         .where = {"d:/s.yaml", 12, 5}});
  CHECK(github_annotations(std::span(&suite, 1)) ==
        "::error file=d%3A/s.yaml,line=12,title=a%2Cb%3Ac%25%3A x < 1::95 %25, a:b%0D%0Anext\n");
}
