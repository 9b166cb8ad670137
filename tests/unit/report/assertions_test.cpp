#include "sim/report/assertions.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "sim/base/check.hpp"
#include "sim/report/metric.hpp"
#include "tests/unit/report/builders.hpp"

using namespace tokenline;
using namespace tokenline::report;
using namespace std::chrono_literals;

namespace {

InstanceSummary instance(double busy, std::int64_t preemptions, std::int64_t peak) {
  InstanceResult result;
  result.kv_blocks = 100;
  result.measured.as_of = TimePoint{} + 10s;
  result.measured.busy = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(busy));
  result.measured.preemptions = preemptions;
  result.measured.kv_peak_blocks = peak;
  result.measured.down = 2s;
  return summarize_instance(result, {});
}

/// Class "chat" with a TTFT of 100 ms, and two instances.
Summary by_hand() {
  RunResult run = run_of({"chat"});
  run.log.records.push_back(completed({.ttft = ms(100), .e2el = ms(300)}));
  Summary summary;
  summary.classes = summarize_classes(run, {});
  summary.instances = {instance(2.0, 3, 40), instance(6.0, 4, 70)};
  return summary;
}

Scenario with_asserts(const std::string& list) {
  return parse_scenario("s.yaml", std::string(small_scenario) + "assert:\n" + list);
}

std::string mistake(const std::string& list) {
  const Scenario scenario = with_asserts(list);
  try {
    static_cast<void>(read_conditions(scenario));
  } catch (const config::ConfigError& e) {
    return e.what();
  }
  return {};
}

}  // namespace

TEST_CASE("over instances fractions are averaged, counts added and peaks maximised", "[report]") {
  const Summary summary = by_hand();
  CHECK(metric(summary, "instances.busy_fraction").value == Approx((0.2 + 0.6) / 2));
  CHECK(metric(summary, "instances.preemptions").value == 3.0 + 4.0);
  CHECK(metric(summary, "instances.kv_peak_fraction").value == 0.7);
  CHECK(metric(summary, "instances.down_s").value == 2.0 + 2.0);
  CHECK_FALSE(metric(summary, "instances.kv_waste_fraction").value);
}

TEST_CASE("a metric is named by class and key", "[report]") {
  const Summary summary = by_hand();
  CHECK(metric(summary, "chat.mean_ttft_ms").value == 100.0);
  CHECK(metric(summary, "all.completed").whole);
  CHECK_THROWS_AS(metric(summary, "chat.nothing"), InternalError);
}

TEST_CASE("a text that names no metric is met with a suggestion", "[report]") {
  const std::vector<std::string> classes{"chat"};
  CHECK_FALSE(metric_mistake("chat.p99_ttft_ms", classes));
  CHECK_FALSE(metric_mistake("instances.restarts", classes));
  CHECK(metric_mistake("chat.p99_tft_ms", classes)->hint == "did you mean 'p99_ttft_ms'?");
  CHECK(metric_mistake("chatt.p99_ttft_ms", classes)->hint == "did you mean 'chat'?");
  CHECK(metric_mistake("chat.restarts", classes));
  CHECK(metric_mistake("instances.mean_ttft_ms", classes));
  CHECK(metric_mistake("chat", classes));
  CHECK(metric_mistake("", classes));
}

TEST_CASE("each comparison holds on its side of the bound only", "[report]") {
  const Summary summary = by_hand();
  const auto holds = [&](const std::string& condition) {
    const Scenario scenario = with_asserts("  - \"" + condition + "\"\n");
    return check(read_conditions(scenario), summary).front().passed;
  };
  CHECK(holds("chat.mean_ttft_ms < 100.5"));
  CHECK_FALSE(holds("chat.mean_ttft_ms < 100"));
  CHECK(holds("chat.mean_ttft_ms <= 100"));
  CHECK_FALSE(holds("chat.mean_ttft_ms <= 99.5"));
  CHECK(holds("chat.mean_ttft_ms > 99.5"));
  CHECK_FALSE(holds("chat.mean_ttft_ms > 100"));
  CHECK(holds("chat.mean_ttft_ms>=100"));
  CHECK_FALSE(holds("chat.mean_ttft_ms >= 100.5"));
  CHECK(holds("chat.mean_ttft_ms == 100"));
  CHECK_FALSE(holds("chat.mean_ttft_ms == 100.5"));
  CHECK(holds("chat.mean_ttft_ms != 100.5"));
  CHECK_FALSE(holds("chat.mean_ttft_ms != 100"));
}

TEST_CASE("a condition may name the class in parentheses and carry a unit", "[report]") {
  const auto read = [](const std::string& text) {
    const Scenario scenario = with_asserts("  - \"" + text + "\"\n");
    return read_conditions(scenario).front();
  };
  const auto means = [&](const std::string& text, const std::string& metric, double bound) {
    INFO(text);
    const Condition condition = read(text);
    CHECK(condition.metric == metric);
    CHECK(condition.bound == Approx(bound));
    CHECK(condition.text == text);
  };
  means("p99_ttft(chat) > 1 s", "chat.p99_ttft_ms", 1000.0);
  means("p99_ttft_ms( chat ) < 800 ms", "chat.p99_ttft_ms", 800.0);
  means("chat.mean_tpot_ms < 20 ms", "chat.mean_tpot_ms", 20.0);
  means("goodput > 30/s", "all.request_goodput", 30.0);
  means("preemptions == 0", "all.preemptions", 0.0);
  means("goodput_fraction(chat) >= 95 %", "chat.goodput_fraction", 0.95);
  means("busy_fraction(instances) < 0.9", "instances.busy_fraction", 0.9);
  means("duration(chat) < 2 min", "chat.duration_s", 120.0);
  CHECK(negated(read("p99_ttft(chat) > 1 s")) == "chat.p99_ttft_ms <= 1 s");
  CHECK(negated(read("preemptions == 0")) == "all.preemptions != 0");
  CHECK(mistake("  - p99_ttft(chatt) > 1 s\n").find("no class 'chatt'") != std::string::npos);
  CHECK(mistake("  - p99_tft(chat) > 1 s\n").find("no metric 'p99_tft'") != std::string::npos);
  CHECK(mistake("  - completed(chat) > 1 s\n").find("no amount of completed") != std::string::npos);
  CHECK(mistake("  - p99_ttft(chat) = 1\n").find("compares nothing") != std::string::npos);
}

TEST_CASE("a condition on a metric without a value fails", "[report]") {
  const Scenario scenario = with_asserts("  - chat.request_goodput >= 0\n");
  const auto results = check(read_conditions(scenario), by_hand());
  REQUIRE(results.size() == 1);
  CHECK_FALSE(results[0].passed);
  CHECK_FALSE(results[0].value);
}

TEST_CASE("every bad condition is reported at its own line", "[report]") {
  const auto first =
      static_cast<int>(std::count(small_scenario.begin(), small_scenario.end(), '\n') + 2);
  const std::string text = mistake(
      "  - chat.p99_tft_ms < 1\n  - chat.p99_ttft_ms < 1\n  - chat.p99_ttft_ms\n"
      "  - chat.p99_ttft_ms < 1 GB\n");
  const auto at = [&](int line) { return "s.yaml:" + std::to_string(line) + ":5: error: assert"; };
  CHECK(text.find(at(first) + "[0]: no metric 'p99_tft_ms'") != std::string::npos);
  CHECK(text.find(at(first + 1)) == std::string::npos);
  CHECK(text.find(at(first + 2) + "[2]: 'chat.p99_ttft_ms' compares nothing") != std::string::npos);
  CHECK(text.find(at(first + 3) + "[3]: '1 GB' is no amount of p99_ttft_ms") != std::string::npos);
}
