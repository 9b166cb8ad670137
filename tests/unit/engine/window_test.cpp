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

TEST_CASE("what is found again inside the window was not thrown away inside it", "[engine]") {
  // Two answers outgrow the pool before the window, and find most of their KV again in it.
  Scenario s = parse_scenario("window.yaml", R"(scenario: window
model: llama-3.1-8b
cluster: {gpu: h100_sxm}
engine: {max_model_len: 512, num_gpu_blocks_override: 41, enable_prefix_caching: true}
traffic:
  pair: {arrival: {process: constant, rate: 10/s}, num_prompts: 2, prompt_tokens: 284, output_tokens: 200, shared_prefix: {tokens: 16, groups: 1}}
  late: {arrival: {process: constant, rate: 0.1/s}, num_prompts: 2, prompt_tokens: 10, output_tokens: 2}
measure: {from: 0.5 s}
)");
  const RunResult result = run(s);
  CHECK(result.audit.passed);
  const InstanceStats& whole = result.instances[0].whole;
  const InstanceStats& measured = result.instances[0].measured;
  CHECK(whole.preemptions > measured.preemptions);
  CHECK(measured.recomputed_tokens >= 0);
  CHECK(measured.recomputed_tokens <= whole.recomputed_tokens);
}
