// Engines that decide on a step when the one before it starts.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "sim/engine/run.hpp"

using namespace tokenline;

namespace {

/// A long prompt at 0 s, which runs alone, and a short one a millisecond later, on an engine
/// without host times.
RunResult two_requests(bool ahead) {
  Scenario s = parse_scenario("ahead.yaml", fmt::format(R"(scenario: ahead
model: llama-3.1-8b
cluster: {{gpu: h100_sxm}}
engine: {{preset: trtllm, max_model_len: 8192, host_gap: 0 s, host_gap_per_sequence: 0 s,
         host_launch_per_layer: 0 s, schedule_ahead: {}}}
traffic:
  long: {{arrival: {{process: constant, rate: 1/s}}, num_prompts: 1, prompt_tokens: 4000, output_tokens: 20}}
  late: {{start: 1.001 s, arrival: {{process: constant, rate: 1000/s}}, num_prompts: 1, prompt_tokens: 100, output_tokens: 2}}
)",
                                                        ahead));
  RunResult result = run(s);
  REQUIRE(result.audit.passed);
  return result;
}

}  // namespace

TEST_CASE("a request that arrives in a step misses the next one when that is decided already",
          "[ahead]") {
  const RunResult late = two_requests(false);
  const RunResult ahead = two_requests(true);
  const RequestRecord& prompt = late.log.records.at(0);
  const RequestRecord& joins = late.log.records.at(1);
  const RequestRecord& misses = ahead.log.records.at(1);
  REQUIRE(joins.arrival > prompt.arrival);
  REQUIRE(joins.arrival < prompt.first_token);
  // Both prefills are the same step of one prompt and one decode, a decode step apart.
  CHECK(joins.parts[Part::wait_step] == prompt.first_token - joins.arrival);
  CHECK(misses.parts[Part::wait_step] > joins.parts[Part::wait_step]);
  const Duration decode = misses.parts[Part::wait_step] - joins.parts[Part::wait_step];
  CHECK(misses.ttft() - joins.ttft() >= decode);
  CHECK(ahead.log.records.at(0).first_token == prompt.first_token);
}

TEST_CASE("an idle engine that decides ahead starts a request at once", "[ahead]") {
  const RequestRecord first = two_requests(true).log.records.at(0);
  CHECK(first.parts[Part::wait_step] == Duration{});
  CHECK(first.ttft() == two_requests(false).log.records.at(0).ttft());
}
