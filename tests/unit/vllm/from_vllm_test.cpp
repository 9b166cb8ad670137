#include "tools/vllm/from_vllm.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sim/config/node.hpp"
#include "sim/engine/scenario.hpp"
#include "tests/support/scratch.hpp"
#include "tools/vllm/to_vllm.hpp"

using namespace tokenline;
using namespace tokenline::vllm;
using Catch::Contains;

namespace {

const std::string llama = "vllm serve meta-llama/Llama-3.1-8B-Instruct ";
const std::string bench = "vllm bench serve ";

FromVllm made(const std::string& serve, const std::string& client = {},
              const std::vector<std::string>& overrides = {}, const std::string& gpu = "h100_sxm") {
  FromVllmOptions options{.gpu = gpu, .overrides = overrides};
  return from_vllm(split_shell(serve), split_shell(client), options);
}

/// The value of a key of the resolved scenario, on one line.
std::string value(const std::string& yaml, const std::string& path) {
  const Scenario scenario = parse_scenario("scenario.yaml", yaml);
  const config::Node* node = &scenario.resolved;
  for (std::size_t begin = 0; begin <= path.size() && node != nullptr;) {
    const auto end = std::min(path.find('.', begin), path.size());
    node = node->find(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return node == nullptr ? "absent" : node->scalar;
}

std::string refused(const std::string& serve, const std::string& client = {},
                    const std::vector<std::string>& overrides = {}) {
  try {
    static_cast<void>(made(serve, client, overrides));
  } catch (const config::ConfigError& e) {
    return e.what();
  }
  return {};
}

struct Command {
  std::string serve;
  std::string client;
  std::string gpu;
  std::vector<std::string> overrides;
  std::vector<std::pair<std::string, std::string>> keys;
  std::vector<std::string> unmodelled;  ///< Begins of what is named.
};

}  // namespace

TEST_CASE("published commands give their scenario", "[vllm]") {
  // Of vLLM's documentation (serving, parallelism and scaling, benchmark CLI, features, recipes).
  const std::vector<Command> commands{
      {"vllm serve meta-llama/Meta-Llama-3-8B-Instruct --dtype auto --api-key token-abc123",
       "",
       "h100_sxm",
       {},
       {{"model", "llama-3.1-8b"}, {"engine.max_model_len", "8192"}},
       {}},
      {"vllm serve facebook/opt-13b --tensor-parallel-size 4",
       "",
       "a100_sxm_80gb",
       {},
       {{"model", "opt-13b"}, {"cluster.tensor_parallel_size", "4"}},
       {}},
      {"vllm serve deepseek-ai/DeepSeek-V3-0324 --tensor-parallel-size 1 --data-parallel-size 8 "
       "--enable-expert-parallel",
       "",
       "h200_sxm",
       {},
       {{"cluster.attention_data_parallel_size", "8"},
        {"cluster.expert_parallel_size", "8"},
        {"cluster.replicas", "1"}},
       {}},
      {"vllm serve openai/gpt-oss-120b --tensor-parallel-size 2 --async-scheduling",
       "",
       "h100_sxm",
       {},
       {{"model", "gpt-oss-120b"}, {"engine.preset", "vllm-v1-async"}},
       {}},
      {"vllm serve Qwen/Qwen3-30B-A3B --enable-reasoning --reasoning-parser deepseek_r1",
       "",
       "h100_sxm",
       {},
       {{"model", "qwen3-30b-a3b"}},
       {}},
      {"vllm serve Qwen/Qwen3-235B-A22B-FP8 -tp 4 --enable-auto-tool-choice --tool-call-parser "
       "hermes",
       "",
       "h100_sxm",
       {},
       {{"model", "qwen3-235b-a22b-fp8"}},
       {}},
      {"vllm serve meta-llama/Llama-3.3-70B-Instruct -tp 8 -pp 2",
       "",
       "h100_sxm",
       {"cluster.network.fabric=infiniband_ndr"},
       {{"cluster.pipeline_parallel_size", "2"}, {"cluster.network.node", "hgx_h100"}},
       {}},
      {"vllm serve RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8 --kv-cache-dtype fp8",
       "",
       "h100_sxm",
       {},
       {{"engine.quantization", "fp8"}, {"engine.kv_cache_dtype", "fp8"}},
       {}},
      {"vllm serve hugging-quants/Meta-Llama-3.1-70B-Instruct-AWQ-INT4 -tp 4 --quantization "
       "awq_marlin",
       "",
       "h100_sxm",
       {},
       {{"model", "llama-3.1-70b"}},
       {"hugging-quants/Meta-Llama-3.1-70B-Instruct-AWQ-INT4: ", "--quantization awq_marlin"}},
      {"vllm serve meta-llama/Llama-3.1-8B-Instruct --speculative-config '{\"method\": \"ngram\", "
       "\"num_speculative_tokens\": 5, \"prompt_lookup_max\": 4}'",
       "",
       "h100_sxm",
       {"speculation.acceptance=0.5"},
       {{"speculation.method", "ngram"}, {"speculation.num_speculative_tokens", "5"}},
       {}},
      {"vllm serve meta-llama/Meta-Llama-3-8B-Instruct --speculative-config.model "
       "yuhuili/EAGLE-LLaMA3-Instruct-8B --speculative-config.num_speculative_tokens 2",
       "",
       "h100_sxm",
       {},
       {{"speculation", "absent"}},
       {"--speculative-config"}},
      {"vllm serve meta-llama/Llama-3.1-8B-Instruct --kv-transfer-config "
       "'{\"kv_connector\":\"LMCacheConnectorV1\",\"kv_role\":\"kv_both\"}'",
       "",
       "h100_sxm",
       {},
       {},
       {"--kv-transfer-config"}},
      {"VLLM_USE_V1=1 vllm serve meta-llama/Llama-3.1-8B-Instruct --disable-log-requests "
       "--no-enable-prefix-caching --swap-space 16",
       "vllm bench serve --backend vllm --model meta-llama/Llama-3.1-8B-Instruct --dataset-name "
       "random --random-input-len 2000 --random-output-len 200 --request-rate 10 --num-prompts 100 "
       "--percentile-metrics ttft,tpot,itl,e2el",
       "h100_sxm",
       {},
       {{"engine.enable_prefix_caching", "false"},
        {"traffic.bench.prompt_tokens", "2000"},
        {"traffic.bench.output_tokens", "200"},
        {"traffic.bench.arrival.rate", "10/s"},
        {"traffic.bench.num_prompts", "100"}},
       {"--swap-space 16"}},
      {"python3 -m vllm.entrypoints.openai.api_server --model meta-llama/Llama-2-7b-chat-hf "
       "--max-model-len 4k --max-num-seqs 64 --max-num-batched-tokens 4K",
       "python3 benchmarks/benchmark_serving.py --backend vllm --dataset-name random --num-prompts "
       "32 --max-concurrency 4 --goodput ttft:3000 tpot:100",
       "h100_sxm",
       {},
       {{"engine.max_model_len", "4000"},
        {"engine.max_num_batched_tokens", "4096"},
        {"traffic.bench.arrival.max_concurrency", "4"},
        {"traffic.bench.slo.ttft", "3000 ms"},
        {"traffic.bench.slo.tpot", "100 ms"}},
       {}}};
  for (const Command& command : commands) {
    INFO(command.serve);
    const FromVllm result = made(command.serve, command.client, command.overrides, command.gpu);
    for (const auto& [path, expected] : command.keys) {
      INFO(path);
      CHECK(value(result.yaml, path) == expected);
    }
    REQUIRE(result.unmodelled.size() == command.unmodelled.size());
    for (std::size_t i = 0; i < command.unmodelled.size(); ++i) {
      CHECK(result.unmodelled[i].starts_with(command.unmodelled[i]));
      CHECK_THAT(result.yaml, Contains("# not modelled: " + command.unmodelled[i].substr(0, 20)));
    }
    CHECK(made(command.serve, command.client, command.overrides, command.gpu).yaml == result.yaml);
  }
}

TEST_CASE("every modelled flag of a server changes the scenario", "[vllm]") {
  const auto resolved = [](const std::string& flags, const std::vector<std::string>& extra = {},
                           const std::string& model = "meta-llama/Llama-3.1-8B-Instruct") {
    return config::emit_yaml(
        parse_scenario("s.yaml", made("vllm serve " + model + ' ' + flags, "", extra).yaml)
            .resolved);
  };
  const std::string plain = resolved("");
  for (const char* flags : {"-tp 2",
                            "-pp 2",
                            "-dp 2",
                            "-pcp 2",
                            "--max-model-len 4096",
                            "--max-num-seqs 8",
                            "--max-num-batched-tokens 4096",
                            "--gpu-memory-utilization 0.8",
                            "--block-size 32",
                            "--no-enable-prefix-caching",
                            "--num-gpu-blocks-override 9000",
                            "--kv-cache-dtype fp8",
                            "-q fp8",
                            "--scheduling-policy priority",
                            "--no-enable-chunked-prefill",
                            "--async-scheduling",
                            "--watermark 0.01",
                            "--kv-offloading-size 10",
                            "--enforce-eager",
                            "--cudagraph-capture-sizes 1 2 64",
                            "--max-cudagraph-capture-size 256",
                            "--cuda-graph-sizes 128",
                            "-cc '{\"cudagraph_mode\": \"FULL_DECODE_ONLY\"}'"}) {
    INFO(flags);
    CHECK(resolved(flags) != plain);
  }
  const std::vector<std::string> accepted{"speculation.acceptance=0.6"};
  CHECK(resolved("--spec-method ngram --spec-tokens 3", accepted) != plain);
  CHECK(resolved("--spec-method draft_model --spec-model meta-llama/Llama-3.1-8B --spec-tokens 2",
                 accepted) != plain);
  CHECK(resolved("--nnodes 2 -pp 2", {"cluster.network.fabric=roce_400g"}) !=
        resolved("-pp 2", {"cluster.network.fabric=roce_400g", "cluster.network.node=hgx_h100"}));
  const std::string mixture = "mistralai/Mixtral-8x7B-Instruct-v0.1";
  CHECK(resolved("-tp 4 -ep", {}, mixture) != resolved("-tp 4", {}, mixture));
}

TEST_CASE("every modelled flag of the benchmark changes the scenario", "[vllm]") {
  const auto resolved = [](const std::string& flags) {
    return config::emit_yaml(parse_scenario("s.yaml", made(llama, bench + flags).yaml).resolved);
  };
  const auto differ = [&](const std::string& base, const std::vector<std::string>& others) {
    const std::string plain = resolved(base);
    for (const std::string& other : others) {
      INFO(base + other);
      CHECK(resolved(base + other) != plain);
    }
  };
  differ("--num-prompts 50 ",
         {"--seed 3", "--num-prompts 60", "--random-input-len 9", "--random-output-len 9",
          "--input-len 9", "--output-len 9", "--random-range-ratio 0.5", "--random-prefix-len 5",
          "--request-rate 3", "--max-concurrency 7", "--goodput ttft:5",
          "--dataset-name prefix_repetition", "--dataset-name sonnet",
          "--ramp-up-strategy linear --ramp-up-start-rps 1 --ramp-up-end-rps 9"});
  differ("--request-rate 3 ", {"--burstiness 0.5", "--burstiness inf"});
  differ("--dataset-name prefix_repetition ",
         {"--prefix-repetition-prefix-len 9", "--prefix-repetition-suffix-len 9",
          "--prefix-repetition-num-prefixes 9", "--prefix-repetition-output-len 9"});
  differ("--dataset-name sonnet ",
         {"--sonnet-input-len 300", "--sonnet-output-len 9", "--sonnet-prefix-len 9"});
  differ("--ramp-up-strategy linear --ramp-up-start-rps 1 --ramp-up-end-rps 9 ",
         {"--ramp-up-strategy exponential", "--ramp-up-start-rps 2", "--ramp-up-end-rps 8"});
}

TEST_CASE("random lengths are drawn from the range of the benchmark", "[vllm]") {
  // floor(1000 * 0.75) = 750, ceil(1000 * 1.25) = 1250; floor(7 * 0.75) = 5, ceil(7 * 1.25) = 9.
  const std::string yaml = made(llama, bench +
                                           "--random-input-len 1000 --random-output-len 7 "
                                           "--random-range-ratio 0.25")
                               .yaml;
  CHECK(value(yaml, "traffic.bench.prompt_tokens.min") == "750");
  CHECK(value(yaml, "traffic.bench.prompt_tokens.max") == "1250");
  CHECK(value(yaml, "traffic.bench.output_tokens.min") == "5");
  CHECK(value(yaml, "traffic.bench.output_tokens.max") == "9");
}

TEST_CASE("a ramp-up holds all its requests in the time that they take on average", "[vllm]") {
  // Gaps 1/r_i sum to the length of the profile, and the rate times its steps to the requests.
  for (const std::string strategy : {"linear", "exponential"}) {
    const Scenario scenario = parse_scenario(
        "s.yaml", made(llama, bench + "--num-prompts 1000 --ramp-up-strategy " + strategy +
                                  " --ramp-up-start-rps 2 --ramp-up-end-rps 50")
                      .yaml);
    const config::Node* rate =
        scenario.resolved.find("traffic")->find("bench")->find("arrival")->find("rate");
    REQUIRE(rate != nullptr);
    double expected = 0.0;
    for (int i = 0; i < 1000; ++i) {
      const double progress = i / 999.0;
      expected +=
          1.0 / (strategy == "linear" ? 2.0 + 48.0 * progress : 2.0 * std::pow(25.0, progress));
    }
    double requests = 0.0;
    double time = 0.0;
    double last_rate = 0.0;
    for (const config::Node& point : rate->items) {
      const double now = config::parse_seconds(point.find("at")->scalar)->value();
      requests += last_rate * (now - time);
      time = now;
      last_rate = config::parse_rate(point.find("rate")->scalar)->value();
    }
    // What the last step holds arrives in the rest of the time.
    CHECK(requests + last_rate * (expected - time) == Approx(1000.0).epsilon(1e-6));
    CHECK(last_rate > 40.0);
  }
}

TEST_CASE("limits that are not given follow those that are", "[vllm]") {
  const std::string few = made(llama + "--max-num-batched-tokens 512").yaml;
  CHECK(value(few, "engine.max_num_seqs") == "512");
  const std::string one = made(llama + "--max-num-seqs 2 --max-model-len 2048").yaml;
  CHECK(value(one, "engine.max_num_batched_tokens") == "4096");
  const std::string whole = made(llama + "--no-enable-chunked-prefill --max-model-len 32K").yaml;
  CHECK(value(whole, "engine.max_num_batched_tokens") == "32768");
  CHECK_THAT(made(llama, "", {}, "a100_sxm_80gb").yaml, Contains("256 and 2048"));
}

TEST_CASE("synthetic acceptance becomes that of each position", "[vllm]") {
  const Scenario scenario = parse_scenario(
      "s.yaml", made(llama + "--speculative-config '{\"method\": \"ngram\", "
                             "\"num_speculative_tokens\": 2, \"rejection_sample_method\": "
                             "\"synthetic\", \"synthetic_acceptance_rates\": [0.8, 0.4]}'")
                    .yaml);
  // The second is accepted in 0.4 / 0.8 of the cases in which the first is.
  CHECK(scenario.speculation->acceptance.front() == std::vector<double>{0.8, 0.5});
}

TEST_CASE("unknown flags, values and models are mistakes, all at once and with a hint", "[vllm]") {
  const std::string both = refused(llama + "--tensor-paralel-size 2 --max-modle-len 5");
  CHECK_THAT(both, Contains("did you mean '--tensor-parallel-size'?"));
  CHECK_THAT(both, Contains("did you mean '--max-model-len'?"));
  CHECK_THAT(refused(llama + "--max-model-len 4.5K"), Contains("no whole number"));
  CHECK_THAT(refused(llama + "-tp"), Contains("has no value"));
  CHECK_THAT(refused(llama + "-tp 3"), Contains("-tp 3:1:1: error: ") && Contains("divide"));
  CHECK_THAT(refused(llama + "--dtype int4"), Contains("expected auto"));
  CHECK_THAT(refused(llama + "-q fp9"), Contains("did you mean 'fp8'?"));
  CHECK_THAT(refused(llama + "-cc '{'"), Contains("no JSON object"));
  CHECK_THAT(refused("vllm serve meta-llama/Llama-3.1-9B-Instruct"),
             Contains("did you mean 'Llama-3.1-8B-Instruct'?"));
  CHECK_THAT(refused("vllm serve"), Contains("names no model"));
  CHECK_THAT(refused("sglang serve x"), Contains("does not begin with 'vllm serve'"));
  CHECK_THAT(refused(llama + "--spec-method ngram --spec-tokens 3"),
             Contains("no flag says how many drafts are accepted"));
  CHECK_THAT(refused(llama, bench + "--dataset-name hf"), Contains("incident import"));
  CHECK_THAT(refused(llama, bench + "--dataset-name sharegpt"), Contains("needs --dataset-path"));
  CHECK_THAT(refused(llama, bench + "--goodput itl:5"), Contains("expected ttft, tpot or e2el"));
  CHECK_THAT(refused(llama, bench + "--request-rate 0"), Contains("no number above 0"));
  CHECK_THAT(refused(llama, bench + "--random-range-ratio 1"), Contains("below 1"));
  CHECK_THAT(refused(llama, "", {"engine.blok_size=3"}), Contains("did you mean 'block_size'?"));
}

TEST_CASE("flags without effect and unmodelled ones at their usual value are not named as lost",
          "[vllm]") {
  const FromVllm result = made(llama +
                               "--host 0.0.0.0 --port 8000 --api-key secret "
                               "--served-model-name a b --cpu-offload-gb 0 --seed 3");
  CHECK(result.unmodelled.empty());
  CHECK_THAT(result.yaml, Contains("without effect here, of vllm serve: --host, --port"));
  CHECK(result.yaml.find("secret") == std::string::npos);
}

TEST_CASE("data files are named from where the scenario will stand", "[vllm]") {
  const Scratch folder;
  (void)folder.write("burst.csv",
                     "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
                     "5,GPT-4,472,18,490,Conversation log\n");
  const FromVllmOptions options{.file = folder / "scenario.yaml"};
  const std::string path = folder / "burst.csv";
  const FromVllm result =
      from_vllm(split_shell(llama),
                split_shell(bench + "--dataset-name burstgpt --dataset-path " + path), options);
  const Scenario scenario = parse_scenario(folder / "scenario.yaml", result.yaml);
  CHECK(scenario.traffic.longest.front().prompt_tokens == 472);
}

TEST_CASE("every flag is in the README", "[vllm]") {
  const std::string readme = config::read_file(TOKENLINE_SOURCE_DIR "/tools/vllm/README.md");
  for (const auto flags : {serve_flags(), bench_flags()})
    for (const Flag& flag : flags) {
      INFO(flag.name);
      CHECK(readme.find("`--" + std::string(flag.name) + "`") != std::string::npos);
    }
}
