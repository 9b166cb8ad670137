#include "tools/vllm/to_vllm.hpp"

#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "sim/config/node.hpp"
#include "tools/vllm/from_vllm.hpp"

using namespace tokenline;
using namespace tokenline::vllm;
using Catch::Contains;

namespace {

/// Flag sets from a fixed sequence; `std::mt19937` gives the same numbers everywhere.
class FlagSets {
 public:
  std::string serve() {
    const std::string model =
        one({"meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen3-8B", "Qwen/Qwen3-32B-FP8"});
    std::string line = "vllm serve " + model;
    for (const std::vector<std::string>& choices :
         std::vector<std::vector<std::string>>{{"", " -tp 2", " --tensor-parallel-size=4"},
                                               {"", " -pp 2"},
                                               {"", " --data-parallel-size 2"},
                                               {"", " --max-model-len 16k", " --max-model-len 8K"},
                                               {"", " --max-num-seqs 64", " --max-num-seqs 300"},
                                               {"", " --max-num-batched-tokens 2048"},
                                               {"", " --gpu-memory-utilization 0.85"},
                                               {"", " --block-size 32"},
                                               {"", " --no-enable-prefix-caching"},
                                               {"", " --async-scheduling"},
                                               {"", " --kv-cache-dtype fp8_e4m3"},
                                               {"", " --scheduling-policy priority"},
                                               {"", " --watermark 0.02"},
                                               {"", " --max-cudagraph-capture-size 256"},
                                               {"", " --kv-offloading-size 20"}})
      line += one(choices);
    return line;
  }

  std::string bench() {
    std::string line = "vllm bench serve";
    for (const std::vector<std::string>& choices : std::vector<std::vector<std::string>>{
             {" --random-input-len 1000", " --random-input-len 300 --random-prefix-len 64",
              " --dataset-name prefix_repetition"},
             {"", " --request-rate 7.5", " --request-rate 3 --burstiness 0.5",
              " --request-rate 2 --burstiness inf"},
             {" --num-prompts 100", " --num-prompts 40 --seed 7"},
             {"", " --goodput ttft:200 tpot:50", " --goodput e2el:5000"}})
      line += one(choices);
    return line;
  }

 private:
  std::string one(const std::vector<std::string>& choices) {
    return choices[numbers_() % choices.size()];
  }
  std::mt19937 numbers_{7};
};

Scenario small(const std::string& more) {
  return parse_scenario("s.yaml", R"(scenario: s
model: llama-3.1-8b
cluster: {gpu: h100_sxm}
traffic:
  chat:
    arrival: {process: poisson, rate: 5/s}
    num_prompts: 40
    prompt_tokens: {distribution: uniform, min: 100, max: 300}
    output_tokens: 20
    slo: {ttft: 0.2 s}
)" + more);
}

std::vector<std::string> paths(const Commands& commands) {
  std::vector<std::string> all;
  for (const Unsaid& key : commands.unsaid) all.push_back(key.path);
  return all;
}

}  // namespace

TEST_CASE("commands of a scenario of commands give the same configuration", "[vllm]") {
  FlagSets sets;
  for (int i = 0; i < 12; ++i) {
    const std::string serve = sets.serve();
    const std::string bench = sets.bench();
    INFO(serve << "\n" << bench);
    const FromVllmOptions options;
    const FromVllm first = from_vllm(split_shell(serve), split_shell(bench), options);
    CHECK(first.unmodelled.empty());
    const Scenario scenario = parse_scenario("scenario.yaml", first.yaml);
    const Commands commands = to_vllm(scenario);
    CHECK(paths(commands).empty());
    REQUIRE_FALSE(commands.bench.empty());
    std::vector<std::string> words = commands.environment;
    words.insert(words.end(), commands.serve.begin(), commands.serve.end());
    const Scenario again =
        parse_scenario("scenario.yaml", from_vllm(words, commands.bench, options).yaml);
    CHECK(again.resolved.find("engine")->entries.size() ==
          scenario.resolved.find("engine")->entries.size());
    CHECK(again.memory.blocks == scenario.memory.blocks);
    CHECK(again.engine.max_num_batched_tokens == scenario.engine.max_num_batched_tokens);
  }
}

TEST_CASE("traffic of one class becomes a benchmark", "[vllm]") {
  const Commands commands = to_vllm(small(""));
  CHECK(commands.unsaid.empty());
  CHECK_THAT(shell_line(commands.bench),
             Contains("--random-input-len 200") && Contains("--request-rate 5 ") &&
                 Contains("'{\"input\": 0.5, \"output\": 0}'") && Contains("--goodput ttft:200"));
  CHECK_THAT(shell_line(commands.serve),
             Contains("vllm serve meta-llama/Llama-3.1-8B-Instruct --no-async-scheduling") &&
                 Contains("--max-num-seqs 1024 --max-num-batched-tokens 8192"));
}

TEST_CASE("keys that no flag says are named", "[vllm]") {
  CHECK(paths(to_vllm(small("measure: {from: 1 s}\n"))) ==
        std::vector<std::string>{"measure.from"});
  const auto engine = paths(to_vllm(small("engine: {host_overhead_per_step: 2 ms}\n")));
  CHECK(engine == std::vector<std::string>{"engine.host_overhead_per_step"});
  const Commands drafts =
      to_vllm(small("speculation: {method: ngram, num_speculative_tokens: 3, acceptance: 0.7}\n"));
  CHECK(paths(drafts) == std::vector<std::string>{"speculation.acceptance"});
  CHECK_THAT(shell_line(drafts.serve),
             Contains(R"('{"method":"ngram","num_speculative_tokens":3}')"));
  const Commands others =
      to_vllm(small("  other:\n    arrival: {process: poisson, rate: 5/s}\n"
                    "    num_prompts: 4\n    prompt_tokens: 10\n"
                    "    output_tokens: 20\n"));
  CHECK(others.bench.empty());
  CHECK(paths(others) == std::vector<std::string>{"traffic"});
}
