// Pipeline parallelism: stages, micro-batches, bubbles.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sim/engine/run.hpp"

using namespace tokenline;
using namespace std::chrono_literals;

namespace {

/// Llama-3.1-70B on one node of H100 without host time; `engine` and `traffic` in flow style.
Scenario scenario(int tensor, int stages, const std::string& engine, const std::string& traffic) {
  return parse_scenario(
      "pipeline.yaml",
      fmt::format(
          "scenario: pipeline\n"
          "model: llama-3.1-70b\n"
          "cluster: {{gpu: h100_sxm, tensor_parallel_size: {}, pipeline_parallel_size: {}}}\n"
          "engine: {{max_model_len: 32768, num_gpu_blocks_override: 4096, {},\n"
          "         host_overhead_per_sequence: 0 s{}}}\n"
          "traffic:\n  chat: {}\n",
          tensor, stages, engine,
          engine.find("host_overhead_per_step") == std::string::npos
              ? ", host_overhead_per_step: 0 s"
              : "",
          traffic));
}

/// `count` requests at once.
std::string burst(int count, int prompt, int output) {
  return fmt::format(
      "{{arrival: {{process: closed_loop, max_concurrency: {0}}}, num_prompts: {0}, "
      "prompt_tokens: {1}, output_tokens: {2}}}",
      count, prompt, output);
}

RunResult finish(Scenario& s) {
  RunResult result = run(s);
  REQUIRE(result.audit.passed);
  return result;
}

std::vector<Duration> stage_times(const Scenario& s, const hw::StepShape& shape) {
  std::vector<Duration> times;
  for (std::size_t i = 0; i < s.cost->stages(); ++i)
    times.push_back(to_duration(s.cost->stage(i).price(shape).time));
  return times;
}

/// When prefill chunks end that enter a pipeline one after the other, at most one per stage at a
/// time, each of them when its way is free.
std::vector<Duration> passages(const Scenario& s, const std::vector<hw::Chunk>& chunks) {
  std::vector<Duration> free(s.cost->stages());
  std::vector<Duration> ends;
  for (std::size_t k = 0; k < chunks.size(); ++k) {
    const bool last = k + 1 == chunks.size();
    const auto times = stage_times(s, {.chunks = {&chunks[k], 1}, .sampled = last ? 1 : 0});
    Duration there = k < free.size() ? Duration{} : ends[k - free.size()];
    for (std::size_t i = 0; i < free.size(); ++i) {
      there = std::max(there, free[i]) + times[i];
      free[i] = there;
    }
    ends.push_back(there);
  }
  return ends;
}

std::int64_t peak_running(const RunResult& result) {
  return result.instances[0].whole.peak_running;
}

}  // namespace

TEST_CASE("a lone request passes the stages one after the other", "[pipeline]") {
  Scenario s = scenario(2, 4, "max_num_batched_tokens: 8192", burst(1, 1000, 2));
  const RequestRecord record = finish(s).log.records.at(0);
  const hw::Chunk prompt{.new_tokens = 1000, .past_tokens = 0};
  Duration prefill{};
  for (const Duration time : stage_times(s, {.chunks = {&prompt, 1}, .sampled = 1}))
    prefill += time;
  Duration decode{};
  for (const Duration time :
       stage_times(s, {.decode_sequences = 1, .decode_context = 1001, .chunks = {}, .sampled = 1}))
    decode += time;
  CHECK(record.ttft() == prefill);
  CHECK(record.e2el() - record.ttft() == decode);
  CHECK(record.parts[Part::pipeline_wait] == Duration{});
}

TEST_CASE("prompts that fill a micro-batch each take m + P - 1 stage times, as in GPipe",
          "[pipeline]") {
  // arXiv 1811.06965, section 2.2: of m micro-batches in P stages the share (P - 1) / (m + P - 1)
  // of the time is a bubble.
  const int stages = GENERATE(2, 4, 8);
  const int prompts = GENERATE(8, 24);
  Scenario s =
      scenario(8 / stages, stages, "max_num_batched_tokens: 2048", burst(prompts, 2048, 1));
  const RunResult result = finish(s);
  const hw::Chunk prompt{.new_tokens = 2048, .past_tokens = 0};
  Duration whole{};
  for (const Duration time : stage_times(s, {.chunks = {&prompt, 1}, .sampled = 1})) whole += time;
  const double expected = to_seconds(whole).value() / stages * (prompts + stages - 1);
  CHECK(to_seconds(result.end - TimePoint{}).value() == Approx(expected).epsilon(0.02));
}

TEST_CASE("the chunks of one prompt follow each other through the pipeline", "[pipeline]") {
  const int stages = GENERATE(2, 4);
  Scenario s = scenario(8 / stages, stages, "max_num_batched_tokens: 2048", burst(1, 16'000, 1));
  std::vector<hw::Chunk> chunks;
  for (std::int64_t past = 0; past < 16'000; past += 2048)
    chunks.push_back(
        {.new_tokens = std::min<std::int64_t>(2048, 16'000 - past), .past_tokens = past});
  const std::vector<Duration> ends = passages(s, chunks);
  const RequestRecord record = finish(s).log.records.at(0);
  CHECK(record.ttft() == ends.back());
  CHECK(record.parts.sum() == record.e2el());
}

TEST_CASE("requests that fit one micro-batch leave the other stages idle where slots are shared",
          "[pipeline]") {
  // vLLM V1 schedules all it can in the first micro-batch (its issue 41682).
  const std::string engine = "max_num_batched_tokens: 8192, max_num_seqs: 64, pipeline_slots: ";
  Scenario together = scenario(1, 4, engine + "shared", burst(64, 100, 1));
  Scenario apart = scenario(1, 4, engine + "split", burst(64, 100, 1));
  const RunResult one = finish(together);
  const RunResult four = finish(apart);
  CHECK(one.instances[0].whole.steps == 1);
  CHECK(four.instances[0].whole.steps == 4);
  // One passage of P stages against (m + P - 1) of a quarter of the work.
  const double ratio = to_seconds(one.end - TimePoint{}) / to_seconds(four.end - TimePoint{});
  CHECK(ratio == Approx(16.0 / 7.0).epsilon(0.1));
}

TEST_CASE("max_num_seqs counts all micro-batches, or is shared out, or counts each", "[pipeline]") {
  const auto peak = [](const char* slots) {
    Scenario s = scenario(
        1, 4, fmt::format("pipeline_slots: {}, max_num_seqs: 8, max_num_batched_tokens: 64", slots),
        burst(100, 30, 50));
    return peak_running(finish(s));
  };
  CHECK(peak("shared") == 8);
  CHECK(peak("split") == 8);
  CHECK(peak("each") == 32);
}

TEST_CASE("a host slower than the stages bounds the rate of steps", "[pipeline]") {
  Scenario s = scenario(1, 4, "pipeline_slots: split, max_num_seqs: 4, host_overhead_per_step: 1 s",
                        burst(4, 16, 30));
  const RunResult result = finish(s);
  // Four micro-batches of one sequence: the host deals with one step a second.
  const double seconds = to_seconds(result.end - TimePoint{}).value();
  CHECK(seconds == Approx(4 * 30).epsilon(0.01));
  for (const RequestRecord& record : result.log.records)
    CHECK(record.parts[Part::pipeline_wait] > 80s);
}

TEST_CASE("the pool is what the fullest stage has room for", "[pipeline]") {
  const auto memory = [](int stages) {
    return parse_scenario("memory.yaml",
                          fmt::format("scenario: memory\nmodel: llama-3.1-70b\n"
                                      "cluster: {{gpu: h100_sxm, tensor_parallel_size: 2, "
                                      "pipeline_parallel_size: {}}}\n"
                                      "engine: {{max_model_len: 8192}}\n"
                                      "traffic:\n  chat: {}\n",
                                      stages, burst(1, 16, 2)));
  };
  const Scenario s = memory(4);
  REQUIRE(s.stage_memory.size() == 4);
  Bytes weights;
  for (const MemoryPlan& stage : s.stage_memory) {
    CHECK(stage.blocks == s.memory.blocks);
    CHECK(stage.in_use(s.engine.kv_sizing, 0, stage.activation_peak) <= stage.budget);
    weights += stage.weights;
  }
  const models::Architecture& model = s.cost->setup().model;
  // The final norm is counted in every stage.
  const double norms = 3.0 * 2.0 * static_cast<double>(model.hidden_size);
  CHECK(weights.value() ==
        Approx(models::weight_bytes(model, {.tensor = 2}).value() + norms).epsilon(1e-12));
  CHECK(s.memory.blocks > 2 * memory(2).memory.blocks);
}

TEST_CASE("a host that works beside the GPU still deals with one step at a time", "[pipeline]") {
  Scenario s = scenario(1, 4,
                        "pipeline_slots: split, max_num_seqs: 4, host_overlap: async, "
                        "host_overhead_per_step: 1 s",
                        burst(4, 16, 30));
  const RunResult result = finish(s);
  CHECK(to_seconds(result.end - TimePoint{}).value() == Approx(4 * 30).epsilon(0.02));
}

TEST_CASE("each stage launches its own layers", "[pipeline]") {
  // 80 layers of 10 ms: 0.2 s for each of four stages, far more than their GPU time.
  Scenario s = scenario(1, 4, "host_launch_per_layer: 10 ms, max_num_batched_tokens: 2048",
                        burst(8, 2048, 1));
  const RunResult result = finish(s);
  CHECK(to_seconds(result.end - TimePoint{}).value() == Approx(0.2 * (8 + 4 - 1)).epsilon(1e-6));
}
