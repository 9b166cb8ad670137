// A replay held against what was observed.
#include "sim/report/fidelity.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "sim/report/summary.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/report/builders.hpp"

using namespace tokenline;
using namespace tokenline::report;
using Catch::Contains;

namespace {

/// What a server `factor` times as slow as the simulated one would have been measured to do.
traffic::Observed slower(const RunResult& run, double factor) {
  traffic::Observed observed;
  const auto scaled = [&](Duration duration) { return to_duration(factor * to_seconds(duration)); };
  for (const RequestRecord& r : run.log.records)
    observed.requests.push_back({.arrival = r.arrival,
                                 .class_name = run.classes[r.class_index].name,
                                 .ttft = scaled(r.ttft()),
                                 .tpot = {},
                                 .e2el = scaled(r.e2el())});
  return observed;
}

std::optional<Fidelity> judged(double factor, double tolerance, const std::string& more = {}) {
  Scenario scenario = parse_scenario("s.yaml", std::string(small_scenario) + more);
  const RunResult result = run(scenario);
  scenario.observed = ObservedRun{.data = slower(result, factor), .tolerance = tolerance};
  return fidelity(scenario, result, summarize(scenario, result).classes);
}

const FidelityFigure& figure(const Fidelity& fidelity, const std::string& metric) {
  const auto found = std::ranges::find(fidelity.figures, metric, &FidelityFigure::metric);
  REQUIRE(found != fidelity.figures.end());
  return *found;
}

}  // namespace

TEST_CASE("a server k times as slow is missed by 1/k - 1, whatever the percentile", "[fidelity]") {
  const auto fidelity = judged(1.25, 0.3);
  REQUIRE(fidelity.has_value());
  // all, chat and batch; answers; TTFT and E2E; mean, median, P90 and P99.
  CHECK(fidelity->figures.size() == 3 * (1 + 2 * 4));
  for (const FidelityFigure& f : fidelity->figures)
    CHECK(f.error().value() ==
          Approx(f.metric.ends_with(".completed") ? 0.0 : 1.0 / 1.25 - 1.0).epsilon(1e-6));
  CHECK(fidelity->passed());
}

TEST_CASE("a P99 beyond the tolerance fails, on either side, and a mean does not", "[fidelity]") {
  CHECK(judged(1.2, 0.2)->passed());        // 17 % too fast
  CHECK_FALSE(judged(1.3, 0.2)->passed());  // 23 % too fast
  CHECK(judged(0.9, 0.2)->passed());        // 11 % too slow
  CHECK_FALSE(judged(0.8, 0.2)->passed());  // 25 % too slow
  const auto missed = judged(1.3, 0.2);
  CHECK_FALSE(figure(*missed, "chat.p99_ttft_ms").within);
  CHECK(figure(*missed, "chat.mean_ttft_ms").within);
  CHECK_FALSE(figure(*missed, "chat.mean_ttft_ms").gated);
  CHECK_THAT(fidelity_text(*missed), Contains("MISSED") && Contains("fidelity: FAILED, 3 of 9"));
}

TEST_CASE("a replay that leaves requests unanswered which were answered fails", "[fidelity]") {
  Scenario scenario = parse_scenario("s.yaml", std::string(small_scenario));
  RunResult result = run(scenario);
  scenario.observed = ObservedRun{.data = slower(result, 1.0), .tolerance = 0.2};
  // The slow ones are as before: every third of the others is lost.
  for (std::size_t i = 0; i < result.log.records.size(); i += 3)
    result.log.records[i].outcome = Outcome::rejected;
  const auto missed = fidelity(scenario, result, summarize(scenario, result).classes);
  CHECK_FALSE(figure(*missed, "all.completed").within);
  CHECK_FALSE(missed->passed());
  // What was observed may be a part of the traffic.
  auto& requests = scenario.observed->data.requests;
  requests.resize(requests.size() / 2);
  CHECK(figure(*fidelity(scenario, result, summarize(scenario, result).classes), "all.completed")
            .within);
}

TEST_CASE("only what arrives inside the window is compared", "[fidelity]") {
  const auto all = judged(1.0, 0.2);
  const auto some = judged(1.0, 0.2, "measure: {from: 2 s}\n");
  CHECK(figure(*all, "all.mean_ttft_ms").observed != figure(*some, "all.mean_ttft_ms").observed);
  for (const FidelityFigure& f : some->figures)
    CHECK(f.error().value() == Approx(0.0).margin(1e-6));
  // Nothing is held against nothing.
  CHECK_FALSE(judged(1.0, 0.2, "measure: {from: 900 s}\n")->passed());
}

TEST_CASE("a queue is looked at when it was observed", "[fidelity]") {
  const Scratch folder;
  (void)folder.write("q.csv", "time_s,running,waiting\n1,1,0\n2,4,2\n3,1,0\n");
  Scenario scenario =
      parse_scenario(folder / "s.yaml", std::string(small_scenario) + "observed: {file: q.csv}\n");
  const RunResult result = run(scenario, probes(scenario.observed));
  REQUIRE(result.depths.size() == 3);
  const Fidelity fidelity = summarize(scenario, result).fidelity.value();
  CHECK(figure(fidelity, "queue.mean_running").observed == Approx(2.0));
  CHECK(figure(fidelity, "queue.mean_waiting").observed == Approx(2.0 / 3.0));
  // numpy: rank 0.99 · 2 between 1 and 6.
  CHECK(figure(fidelity, "queue.p99_requests").observed == Approx(1.0 + 0.98 * 5.0));
  double running = 0.0;
  for (const QueueDepth& depth : result.depths) running += static_cast<double>(depth.running);
  CHECK(figure(fidelity, "queue.mean_running").replayed == Approx(running / 3.0));
}

TEST_CASE("looks at an idle server after the replay's end say nothing", "[fidelity]") {
  const auto judge = [](const std::string& rows) {
    const Scratch folder;
    (void)folder.write("q.csv", "time_s,running,waiting\n" + rows);
    Scenario scenario = parse_scenario(folder / "s.yaml",
                                       std::string(small_scenario) + "observed: {file: q.csv}\n");
    const RunResult result = run(scenario, probes(scenario.observed));
    REQUIRE(to_seconds(result.end.time_since_epoch()).value() < 500.0);
    return summarize(scenario, result).fidelity.value();
  };
  const Fidelity some = judge("1,1,0\n2,4,2\n3,1,0\n");
  const Fidelity more = judge("1,1,0\n2,4,2\n3,1,0\n900,0,0\n901,0,0\n");
  CHECK(more.idle_after_end == 2);
  for (std::size_t i = 0; i < some.figures.size(); ++i) {
    CHECK(more.figures[i].observed == some.figures[i].observed);
    CHECK(more.figures[i].replayed == some.figures[i].replayed);
  }
  CHECK_THAT(fidelity_text(more), Contains("left out: 2 looks at the idle server"));
  CHECK_THAT(fidelity_text(some), !Contains("left out"));
  // Nothing is held against nothing; a server that still works is behind its replay.
  CHECK_FALSE(judge("900,0,0\n").passed());
  const Fidelity late = judge("900,3,2\n");
  CHECK(late.idle_after_end == 0);
  CHECK_FALSE(late.passed());
}

TEST_CASE("without observed a run is not judged", "[fidelity]") {
  Scenario scenario = parse_scenario("s.yaml", std::string(small_scenario));
  const RunResult result = run(scenario);
  const Summary summary = summarize(scenario, result);
  CHECK_FALSE(summary.fidelity.has_value());
  CHECK(summary_json(summary).find("fidelity") == std::string::npos);
}

TEST_CASE("what was observed of a class that the traffic lacks is a mistake", "[fidelity]") {
  const Scratch folder;
  (void)folder.write("o.csv", "arrival_s,class,ttft_ms\n1,chatt,5\n");
  CHECK_THROWS_WITH(
      parse_scenario(folder / "s.yaml", std::string(small_scenario) + "observed: {file: o.csv}\n"),
      Contains("requests of a class 'chatt'") && Contains("did you mean 'chat'?"));
  CHECK_THROWS_WITH(parse_scenario(folder / "s.yaml",
                                   std::string(small_scenario) + "observed: {file: none.csv}\n"),
                    Contains("there is no file"));
}
