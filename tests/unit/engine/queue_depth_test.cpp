// Looking at the queues while a run goes on.
#include <catch2/catch.hpp>

#include "sim/engine/run.hpp"

using namespace tokenline;

namespace {

Scenario crowded() {
  return parse_scenario("crowded.yaml", R"(scenario: crowded
model: llama-3.1-8b
cluster: {gpu: h100_sxm, replicas: 2}
engine: {preset: vllm-v1, max_model_len: 4096, max_num_seqs: 8}
traffic:
  chat:
    arrival: {process: poisson, rate: 40/s}
    num_prompts: 300
    prompt_tokens: {distribution: uniform, min: 100, max: 900}
    output_tokens: {distribution: uniform, min: 20, max: 200}
)");
}

std::vector<TimePoint> every_half_second(int count) {
  std::vector<TimePoint> probes;
  for (int i = 0; i < count; ++i)
    probes.push_back(TimePoint{} + std::chrono::milliseconds(500 * i + 250));
  return probes;
}

}  // namespace

TEST_CASE("at any instant running and waiting are the requests that arrived and have not ended",
          "[engine]") {
  Scenario scenario = crowded();
  const auto probes = every_half_second(60);
  const RunResult run = tokenline::run(scenario, probes);
  REQUIRE(run.depths.size() == probes.size());
  std::int64_t most_waiting = 0;
  for (std::size_t i = 0; i < probes.size(); ++i) {
    const QueueDepth& depth = run.depths[i];
    REQUIRE(depth.when == probes[i]);
    std::int64_t inside = 0;
    for (const RequestRecord& r : run.log.records)
      if (r.arrival <= probes[i] && r.finish > probes[i]) ++inside;
    CHECK(depth.running + depth.waiting == inside);
    CHECK(depth.running <= 2 * 8);
    most_waiting = std::max(most_waiting, depth.waiting);
  }
  CHECK(most_waiting > 0);
  CHECK(run.depths.back().running == 0);
}

TEST_CASE("a run that is looked at is the same run", "[engine]") {
  Scenario one = crowded();
  Scenario two = crowded();
  const RunResult alone = run(one);
  const RunResult watched = run(two, every_half_second(100));
  CHECK(alone.log.records == watched.log.records);
  CHECK(alone.end == watched.end);
  CHECK(alone.depths.empty());
}
