#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sim/engine/run.hpp"
#include "tests/support/slow_engine.hpp"

using namespace tokenline;

namespace {

/// Conversations on a pool so small that they preempt each other.
Scenario conversations(int seed) {
  return parse_scenario("s.yaml", fmt::format(R"(
scenario: sessions
seed: {}
model: llama-3.1-8b
cluster: {{gpu: h100_sxm, replicas: 2, router: round_robin}}
engine: {{preset: vllm-v1, max_model_len: 2048, num_gpu_blocks_override: 160}}
traffic:
  talk:
    arrival: {{process: poisson, rate: 40/s}}
    stop: 6 s
    session:
      turns: {{distribution: uniform, min: 1, max: 8}}
      think_time: {{distribution: exponential, mean: 300 ms}}
      max_context: 2048
    prompt_tokens: {{distribution: lognormal, mean: 150, sigma: 0.8, max: 900}}
    output_tokens: {{distribution: uniform, min: 1, max: 120}}
)",
                                              seed));
}

}  // namespace

TEST_CASE("conversations are served the same by the fast and the slow engine", "[property]") {
  for (int seed = 1; seed <= 5; ++seed) {
    Scenario fast = conversations(seed);
    Scenario slow = conversations(seed);
    const RunResult result = run(fast);
    const test::SlowRun expected = test::run_slowly(slow);
    REQUIRE(std::ranges::equal(result.log.records, expected.records));
    CHECK(result.audit.passed);
    CHECK(std::ranges::any_of(expected.records, [](const auto& r) { return r.preemptions > 0; }));
    const auto counts = fast.traffic.sources.at(0)->counts();
    std::int64_t ended = 0;
    for (std::size_t i = 1; i < counts.size(); ++i) ended += counts[i].count;
    CHECK(counts.at(0).count > 100);
    CHECK(counts[0].count == ended);
  }
}

TEST_CASE("no turn of a conversation arrives before the answer to the one before", "[property]") {
  Scenario scenario = conversations(9);
  const RunResult result = run(scenario);
  std::vector<TimePoint> answered(result.log.records.size());
  std::vector<std::int64_t> context(result.log.records.size());
  for (const RequestRecord& record : result.log.records) {
    REQUIRE(record.arrival >= answered.at(record.session));
    REQUIRE(record.prompt_tokens > context[record.session]);
    answered[record.session] = record.finish;
    context[record.session] = record.prompt_tokens + record.output_tokens;
    REQUIRE(context[record.session] <= 2048);
  }
}
