// At saturation the engine delivers what the price of its steps allows, and never more than the
// hardware can.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "sim/engine/run.hpp"

using namespace tokenline;

namespace {

Scenario closed_loop(std::int64_t clients, std::int64_t prompt, std::int64_t output,
                     std::int64_t requests) {
  return parse_scenario("saturated.yaml", fmt::format(R"(scenario: saturated
model: llama-3.1-8b
cluster: {{gpu: h100_sxm}}
engine: {{preset: vllm-v1, max_num_seqs: {}, max_num_batched_tokens: 8192, max_model_len: 8192, host_overhead_per_step: 0 s, host_overhead_per_sequence: 0 s}}
traffic:
  only:
    arrival: {{process: closed_loop, max_concurrency: {}}}
    num_prompts: {}
    prompt_tokens: {}
    output_tokens: {}
)",
                                                      clients, clients, requests, prompt, output));
}

double output_rate(const RunResult& result) {
  std::int64_t tokens = 0;
  for (const RequestRecord& r : result.log.records) tokens += r.output_tokens;
  return static_cast<double>(tokens) / to_seconds(result.end - TimePoint{}).value();
}

}  // namespace

TEST_CASE("a saturated decode batch delivers batch / price of its step", "[analytic]") {
  for (const std::int64_t batch : {1, 8, 64, 256}) {
    const std::int64_t output = 1000;
    Scenario s = closed_loop(batch, 1, output, 2 * batch);
    const RunResult result = run(s);
    // All run in lock-step: one prefill, then contexts grow from 2 to `output`.
    const std::vector<hw::Chunk> prompts(static_cast<std::size_t>(batch),
                                         {.new_tokens = 1, .past_tokens = 0});
    double seconds =
        s.cost
            ->price(
                {.decode_sequences = 0, .decode_context = 0, .chunks = prompts, .sampled = batch})
            .time.value();
    for (std::int64_t context = 2; context <= output; ++context)
      seconds += s.cost
                     ->price({.decode_sequences = batch,
                              .decode_context = batch * context,
                              .chunks = {},
                              .sampled = batch})
                     .time.value();
    const double predicted = static_cast<double>(batch * output) / seconds;
    INFO("batch " << batch);
    CHECK(output_rate(result) == Approx(predicted).epsilon(1e-6));
  }
}

TEST_CASE("saturated prefill computes max_num_batched_tokens per price of a full step",
          "[analytic]") {
  Scenario s = closed_loop(64, 4096, 1, 512);
  const RunResult result = run(s);
  const std::vector<hw::Chunk> chunks(2, {.new_tokens = 4096, .past_tokens = 0});
  const double step =
      s.cost->price({.decode_sequences = 0, .decode_context = 0, .chunks = chunks, .sampled = 2})
          .time.value();
  CHECK(static_cast<double>(result.instances[0].whole.prefilled_tokens) /
            to_seconds(result.end - TimePoint{}).value() ==
        Approx(8192.0 / step).epsilon(1e-6));
}

TEST_CASE("no operating point computes or moves more than the datasheet allows", "[analytic]") {
  for (const std::int64_t prompt : {1, 512, 4096})
    for (const std::int64_t output : {1, 64}) {
      Scenario s = closed_loop(128, prompt, output, 512);
      const RunResult result = run(s);
      const InstanceStats& stats = result.instances[0].whole;
      const Seconds elapsed = to_seconds(result.end - TimePoint{});
      const hw::Gpu& gpu = s.cost->setup().gpu;
      CHECK(stats.flops / elapsed <= gpu.peak_16bit);
      CHECK(stats.hbm_bytes / elapsed <= gpu.bandwidth);
    }
}
