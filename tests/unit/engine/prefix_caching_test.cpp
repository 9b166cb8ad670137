// What a preempted request finds again when it is admitted.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>
#include <string_view>

#include "sim/engine/run.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/traffic/support.hpp"

using namespace tokenline;

namespace {

constexpr std::int64_t block = 256;
constexpr std::int64_t prompt = 4 * block;
constexpr std::int64_t output = 2 * block + 8;

/// Two requests share 10 blocks. Each fills 5; when both need a sixth, the second gives up 5 full
/// blocks. The first ends with ⌈(4 · 256 + 520 - 1) / 256⌉ = 7 blocks, 2 of which it takes from the
/// end of what the second has stored. Then the second comes back.
constexpr std::int64_t thrown_away = 5 * block;
constexpr std::int64_t kept = thrown_away - 2 * block;

struct Ran {
  Scenario scenario;
  RunResult result;
};

Ran two_requests(std::string_view caching) {
  const Scratch folder;
  (void)folder.write(
      "two.csv",
      fmt::format("arrival_s,prompt_tokens,output_tokens\n0,{0},{1}\n0,{0},{1}\n", prompt, output));
  Scenario scenario =
      parse_scenario(folder / "s.yaml",
                     fmt::format("scenario: two\nmodel: llama-3.1-8b\ncluster: {{gpu: h100_sxm}}\n"
                                 "engine: {{preset: vllm-v1, max_model_len: 2048, block_size: {}, "
                                 "num_gpu_blocks_override: 10, {}}}\n"
                                 "traffic: {{two: {{trace: {{file: two.csv, format: csv}}}}}}\n",
                                 block, caching));
  RunResult result = run(scenario);
  REQUIRE(result.audit.passed);
  REQUIRE(result.log.records.size() == 2);
  REQUIRE(result.log.records[1].preemptions == 1);
  return {std::move(scenario), std::move(result)};
}

Duration alone(const Scenario& scenario, const hw::Chunk& chunk) {
  return to_duration(scenario.cost->price({.chunks = {&chunk, 1}, .sampled = 1}).time);
}

}  // namespace

TEST_CASE("a preempted request computes again only what others have taken", "[engine]") {
  const Ran ran = two_requests("enable_prefix_caching: true");
  const RequestRecord& victim = ran.result.log.records[1];
  CHECK(victim.recomputed_tokens == thrown_away - kept);
  CHECK(ran.result.instances[0].whole.recomputed_tokens == thrown_away - kept);
  // What it had stored, and the token that it had emitted last.
  const hw::Chunk piece{.new_tokens = thrown_away + 1 - kept, .past_tokens = kept};
  CHECK(victim.parts[Part::recomputed] == alone(ran.scenario, piece));
}

TEST_CASE("without prefix caching a preempted request computes all of it again", "[engine]") {
  const Ran ran = two_requests("enable_prefix_caching: false");
  const RequestRecord& victim = ran.result.log.records[1];
  CHECK(victim.recomputed_tokens == thrown_away);
  CHECK(ran.result.instances[0].whole.recomputed_tokens == thrown_away);
  const hw::Chunk piece{.new_tokens = thrown_away + 1, .past_tokens = 0};
  CHECK(victim.parts[Part::recomputed] == alone(ran.scenario, piece));
}

TEST_CASE("what a request finds again concerns nobody else", "[engine]") {
  const Ran with = two_requests("enable_prefix_caching: true");
  const Ran without = two_requests("enable_prefix_caching: false");
  CHECK(with.result.log.records[0] == without.result.log.records[0]);
  CHECK(with.result.log.records[1].finish < without.result.log.records[1].finish);
}

TEST_CASE("the presets of vLLM V1 find blocks again, older and other engines do not",
          "[scenario]") {
  for (const std::string& name : engine_preset_names()) {
    INFO(name);
    const Scenario scenario = parse_scenario(
        "s.yaml", fmt::format("scenario: s\nmodel: llama-3.1-8b\ncluster: {{gpu: h100_sxm}}\n"
                              "engine: {{preset: {}, max_model_len: 4096}}\ntraffic:\n  chat:\n"
                              "    arrival: {{process: poisson, rate: 1/s}}\n    num_prompts: 1\n"
                              "    prompt_tokens: 10\n    output_tokens: 10\n",
                              name));
    CHECK(scenario.engine.enable_prefix_caching == name.starts_with("vllm-v1"));
  }
}
