// Runs that are asked to stop.
#include <catch2/catch.hpp>

#include "sim/engine/run.hpp"
#include "sim/kernel/simulation.hpp"

using namespace tokenline;

namespace {

Scenario busy_scenario() {
  return parse_scenario("stop.yaml", R"(scenario: stop
model: llama-3.1-8b
cluster: {gpu: h100_sxm}
traffic:
  only:
    arrival: {process: closed_loop, max_concurrency: 4}
    num_prompts: 40
    prompt_tokens: 100
    output_tokens: 20
)");
}

/// Asks for a stop when the `last`-th step begins, and counts those that begin.
class StopsAtStep final : public RunObserver {
 public:
  explicit StopsAtStep(int last) : last_(last) {}

  void step(const ObservedStep& /*step*/) override {
    if (++steps == last_) stop.request_stop();
  }
  void sequence(const ObservedEvent& /*event*/) override {}
  void down(std::uint32_t /*instance*/, TimePoint /*from*/, TimePoint /*until*/) override {}

  int steps = 0;
  std::stop_source stop;

 private:
  int last_;
};

}  // namespace

TEST_CASE("a run that is asked to stop begins no further step", "[engine]") {
  Scenario scenario = busy_scenario();
  StopsAtStep observer(7);
  CHECK_THROWS_AS(run(scenario, {}, &observer, observer.stop.get_token()), Interrupted);
  CHECK(observer.steps == 7);
}

TEST_CASE("a run that could be stopped and is not is the same run", "[engine]") {
  Scenario watched = busy_scenario();
  Scenario plain = busy_scenario();
  const std::stop_source stop;
  const RunResult a = run(watched, {}, nullptr, stop.get_token());
  const RunResult b = run(plain);
  CHECK(a.fingerprint == b.fingerprint);
  CHECK(a.log.records == b.log.records);
}
