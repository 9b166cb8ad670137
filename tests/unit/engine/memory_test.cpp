// HBM accounting, out-of-memory crashes and what becomes of the requests.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "sim/engine/run.hpp"

using namespace tokenline;

namespace {

std::string scenario(const std::string& engine, const std::string& cluster = "") {
  return fmt::format(R"(scenario: memory
model: llama-3.1-8b
cluster: {{gpu: h100_sxm, {}}}
engine: {{preset: vllm-v0, max_model_len: 8192, {}}}
traffic:
  long:
    arrival: {{process: closed_loop, max_concurrency: 200}}
    num_prompts: 600
    prompt_tokens: 6000
    output_tokens: 60
)",
                     cluster, engine);
}

std::int64_t restarts(const RunResult& result) {
  std::int64_t sum = 0;
  for (const InstanceResult& i : result.instances) sum += i.whole.restarts;
  return sum;
}

std::int64_t lost(const RunResult& result) {
  return std::ranges::count(result.log.records, Outcome::lost_oom, &RequestRecord::outcome);
}

constexpr const char* no_room =
    "kv_sizing: on_demand, gpu_memory_utilization: 1.0, non_torch_memory: 0 B, watermark: 0";

}  // namespace

TEST_CASE("the pool is what weights, activations and non-torch memory leave of the budget",
          "[memory]") {
  const Scenario s = parse_scenario("memory.yaml", scenario("gpu_memory_utilization: 0.9"));
  const MemoryPlan& plan = s.memory;
  const double left =
      0.9 * plan.capacity.value() - plan.weights.value() - 0x1p30 - plan.activation_peak.value();
  CHECK(plan.block.value() == 16 * 131'072);  // 2 · 32 layers · 8 heads · 128 · 2 B per token
  CHECK(plan.blocks == static_cast<std::int64_t>(left / plan.block.value()));
  CHECK(plan.in_use(KvSizing::profiled, 0, plan.activation_peak) <= plan.budget);
}

TEST_CASE("a pool with room for activations never runs out of memory", "[memory]") {
  Scenario s = parse_scenario("memory.yaml", scenario("kv_sizing: profiled"));
  const RunResult result = run(s);
  CHECK(result.audit.passed);
  CHECK(restarts(result) == 0);
}

TEST_CASE(
    "a burst that fills a pool without room for activations crashes, and crashes again when "
    "it is retried",
    "[memory]") {
  // 120 prompts of 6000 tokens do not fit together; the small requests beside them do.
  Scenario s =
      parse_scenario("memory.yaml", scenario(no_room, "max_retries: 1, restart_delay: 5 s"),
                     {.overrides = {"traffic.long.arrival={process: constant, rate: 1000/s}",
                                    "traffic.long.start=10 s", "traffic.long.num_prompts=120",
                                    "traffic.short={arrival: {process: poisson, rate: 5/s}, "
                                    "stop: 60 s, prompt_tokens: 100, output_tokens: 50}"}});
  const RunResult result = run(s);
  CHECK(result.audit.passed);
  CHECK(restarts(result) == 2);
  std::int64_t recovered = 0;
  for (const RequestRecord& r : result.log.records) {
    if (r.class_index == 0) CHECK(r.outcome == Outcome::lost_oom);
    if (r.outcome != Outcome::completed || r.retries == 0) continue;
    ++recovered;
    // Whatever happened before the restart counts as lost to it.
    CHECK(r.parts[Part::restart] > Duration{});
    CHECK(r.ttft_parts[Part::restart] == r.parts[Part::restart]);
  }
  CHECK(recovered > 0);
}

TEST_CASE("a watermark keeps the room that the pool's sizing left out", "[memory]") {
  Scenario s =
      parse_scenario("memory.yaml", scenario("kv_sizing: on_demand, gpu_memory_utilization: 1.0, "
                                             "non_torch_memory: 0 B, watermark: 0.1"));
  const RunResult result = run(s);
  CHECK(result.audit.passed);
  CHECK(restarts(result) == 0);
}

TEST_CASE("requests of a crash are lost when they are not retried", "[memory]") {
  Scenario lose =
      parse_scenario("memory.yaml", scenario(no_room, "on_oom: lose, restart_delay: 5 s"));
  const RunResult result = run(lose);
  CHECK(result.audit.passed);
  CHECK(lost(result) > 0);
  CHECK(std::ranges::none_of(result.log.records,
                             [](const RequestRecord& r) { return r.retries > 0; }));
}

TEST_CASE("a contiguous layout admits as many sequences as whole contexts fit", "[memory]") {
  Scenario s = parse_scenario("memory.yaml", scenario("kv_layout: contiguous, watermark: 0"));
  const std::int64_t contexts = s.memory.blocks;
  const RunResult result = run(s);
  CHECK(result.instances[0].whole.peak_running == contexts);
  CHECK(result.instances[0].whole.preemptions == 0);
  // 6000 to 6059 of 8192 tokens are used.
  const InstanceStats& stats = result.instances[0].whole;
  CHECK(stats.kv_stored_seconds / stats.kv_allocated_seconds ==
        Approx(6030.0 / 8192).epsilon(0.02));
}

TEST_CASE("paging wastes less than a block per sequence and admits more sequences", "[memory]") {
  Scenario paged = parse_scenario("memory.yaml", scenario("watermark: 0"));
  Scenario contiguous =
      parse_scenario("memory.yaml", scenario("kv_layout: contiguous, watermark: 0"));
  const RunResult a = run(paged);
  const RunResult b = run(contiguous);
  const InstanceStats& stats = a.instances[0].whole;
  CHECK(1.0 - stats.kv_stored_seconds / stats.kv_allocated_seconds < 16.0 / 6000.0);
  CHECK(stats.peak_running > b.instances[0].whole.peak_running);
}
