// Host time beside the GPU's.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "sim/engine/run.hpp"

using namespace tokenline;
using namespace std::chrono_literals;

namespace {

/// One request of 100 + 11 tokens, alone, by an engine with `keys`.
RequestRecord lone_request(const std::string& keys) {
  Scenario s = parse_scenario("host.yaml", fmt::format(R"(scenario: host
model: llama-3.1-8b
cluster: {{gpu: h100_sxm}}
engine: {{max_model_len: 4096, host_overhead_per_step: 2 ms, host_overhead_per_sequence: 1 ms, {}}}
traffic:
  one: {{arrival: {{process: constant, rate: 1/s}}, num_prompts: 1, prompt_tokens: 100, output_tokens: 11}}
)",
                                                       keys));
  const RunResult result = run(s);
  REQUIRE(result.audit.passed);
  return result.log.records.at(0);
}

EngineConfig engine_with(HostOverlap overlap) {
  EngineConfig engine;
  engine.host_overhead_per_step = Seconds(1e-3);
  engine.host_overhead_per_sequence = Seconds(50e-6);
  engine.host_overhead_per_request = Seconds(3e-3);
  engine.host_overlap = overlap;
  engine.host_gap = Seconds(100e-6);
  return engine;
}

}  // namespace

TEST_CASE("without overlap the GPU waits for all of the host's work", "[host]") {
  const EngineConfig engine = engine_with(HostOverlap::none);
  CHECK(engine.host_time({.sequences = 20}, 10ms) == 2ms);
  CHECK(engine.host_time({.sequences = 20, .first_admissions = 2}, 10ms) == 2ms + 6ms);
}

TEST_CASE("with overlap the GPU waits for what outlasts it, for the gap and for admissions",
          "[host]") {
  const EngineConfig engine = engine_with(HostOverlap::async);
  CHECK(engine.host_time({.sequences = 20}, 10ms) == 100us);
  CHECK(engine.host_time({.sequences = 20}, 1500us) == 500us + 100us);
  CHECK(engine.host_time({.sequences = 20, .first_admissions = 2}, 10ms) == 100us + 6ms);
}

TEST_CASE("the gap that no overlap hides grows with the batch", "[host]") {
  EngineConfig engine = engine_with(HostOverlap::async);
  engine.host_gap_per_sequence = Seconds(10e-6);
  CHECK(engine.host_time({.sequences = 20}, 10ms) == 100us + 20 * 10us);
}

TEST_CASE("a step with prompts lasts at least as long as the host takes to launch it", "[host]") {
  for (const HostOverlap overlap : {HostOverlap::none, HostOverlap::async}) {
    EngineConfig engine = engine_with(overlap);
    engine.host_overhead_per_step = Seconds(0.0);
    engine.host_overhead_per_sequence = Seconds(0.0);
    engine.host_gap = Seconds(0.0);
    engine.prompt_launch = Seconds(30e-3);
    CHECK(engine.host_time({.sequences = 20, .tokens = 700, .prompts = true}, 10ms) == 20ms);
    CHECK(engine.host_time({.sequences = 20, .tokens = 700, .prompts = true}, 40ms) == 0ms);
    CHECK(engine.host_time({.sequences = 20}, 10ms) == 0ms);
  }
}

TEST_CASE("a model's layers are launched one after another", "[host]") {
  // Llama-3.1-8B has 32 of them; a prompt of 100 tokens takes the GPU less than 10 ms.
  const RequestRecord graph = lone_request(
      "host_overlap: async, host_gap: 0 s, cuda_graph_max_tokens: 0, host_launch_per_layer: 0 s");
  const RequestRecord eager = lone_request(
      "host_overlap: async, host_gap: 0 s, cuda_graph_max_tokens: 99, host_launch_per_layer: 1 ms");
  CHECK(eager.ttft() == 2ms + 1ms + 32 * 1ms);
  CHECK(eager.e2el() - eager.ttft() == graph.e2el() - graph.ttft());
}

TEST_CASE("a request pays for its admission once, before its first token", "[host]") {
  const RequestRecord without = lone_request("host_overhead_per_request: 0 s");
  const RequestRecord with = lone_request("host_overhead_per_request: 7 ms");
  CHECK(with.ttft() == without.ttft() + 7ms);
  CHECK(with.e2el() == without.e2el() + 7ms);
  CHECK(with.parts[Part::host_gap] == without.parts[Part::host_gap] + 7ms);
}

TEST_CASE("overlap takes the host's work out of each step that lasts longer", "[host]") {
  const RequestRecord serial = lone_request("host_overlap: none");
  const RequestRecord hidden = lone_request("host_overlap: async, host_gap: 0.1 ms");
  // 11 steps of 3 ms of host work, each beside some 6 ms of an 8-billion-parameter decode.
  CHECK(serial.parts[Part::host_gap] == 11 * 3ms);
  CHECK(hidden.parts[Part::host_gap] == 11 * 100us);
  CHECK(serial.e2el() - hidden.e2el() == 11 * 2900us);
}
