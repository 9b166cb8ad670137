// Measure windows that reach beyond what happens.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "sim/engine/run.hpp"

using namespace tokenline;

namespace {

RunResult run_with(const std::string& measure) {
  Scenario s = parse_scenario("window.yaml", fmt::format(R"(scenario: window
model: llama-3.1-8b
cluster: {{gpu: h100_sxm}}
{}
traffic:
  only:
    arrival: {{process: closed_loop, max_concurrency: 4}}
    num_prompts: 40
    prompt_tokens: 100
    output_tokens: 20
)",
                                                         measure));
  return run(s);
}

}  // namespace

TEST_CASE("a window that covers everything measures what no window does", "[engine]") {
  const RunResult all = run_with("");
  const RunResult covered = run_with("measure: {from: 0 s, to: 1000 s}");
  CHECK(covered.end == all.end);
  CHECK(covered.log.records == all.log.records);
  const InstanceResult& a = all.instances[0];
  const InstanceResult& b = covered.instances[0];
  CHECK(b.measured.steps == a.whole.steps);
  CHECK(b.measured.busy == a.whole.busy);
  CHECK(b.measured.as_of == a.measured.as_of);
  CHECK(b.measured_from == a.measured_from);
}

TEST_CASE("a window after everything measures nothing over no time", "[engine]") {
  const RunResult result = run_with("measure: {from: 500 s}");
  CHECK(result.audit.passed);
  CHECK(result.instances[0].measured.steps == 0);
  CHECK(result.instances[0].measured.as_of == result.instances[0].measured_from);
}
