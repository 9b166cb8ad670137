// Names of sources and what they mean here; what is refused.
#include "tools/validate/deployment.hpp"

#include <catch2/catch.hpp>

#include "hwmodels/gpu.hpp"
#include "tools/validate/engine_version.hpp"
#include "tools/validate/protocol.hpp"
#include "tools/validate/recipe.hpp"

using namespace tokenline;
using namespace tokenline::validate;

namespace {

Deployment qwen() {
  return {.model = "Qwen/Qwen3-32B",
          .gpu = "h100_sxm",
          .preset = "vllm-v1",
          .tensor_parallel = 2,
          .weights = "",
          .engine_keys = {"max_model_len: 2048"}};
}

std::string refusal(const Deployment& deployment) {
  const Built built = build(deployment, closed_loop(protocol_named("genai_perf"), 2, 100, 10));
  CHECK(built.scenario.has_value() == built.refused.empty());
  return built.refused;
}

}  // namespace

TEST_CASE("a source's name of a model means the preset of the same architecture", "[validate]") {
  CHECK(preset_of_model("Qwen/Qwen3-32B") == "qwen3-32b");
  CHECK(preset_of_model("nvidia/Qwen3-32B-NVFP4") == "qwen3-32b");
  CHECK(preset_of_model("Qwen/Qwen3-235B-A22B-FP8") == "qwen3-235b-a22b-fp8");
  CHECK(preset_of_model("meta-llama/Llama-3.1-8B-Instruct") == "llama-3.1-8b");
  CHECK(preset_of_model("nvidia/Llama-3.1-8B-Instruct-FP8") == "llama-3.1-8b");
  CHECK(preset_of_model("meta-llama/Meta-Llama-3.1-8B") == "llama-3.1-8b");
  CHECK(preset_of_model("facebook/opt-13b") == "opt-13b");
  CHECK(preset_of_model("Llama-2-7B") == "llama-2-7b");
  // Another model, even where its name begins like one of ours.
  CHECK_FALSE(preset_of_model("nvidia/DeepSeek-V3.1-NVFP4"));
  CHECK_FALSE(preset_of_model("zhipuai/GLM-5"));
}

TEST_CASE("a source's name of a GPU or an engine means one of ours", "[validate]") {
  CHECK(hw::catalog_name("H100-SXM-80GB") == "h100_sxm");
  CHECK(hw::catalog_name("A100-SXM4-80GB") == "a100_sxm_80gb");
  CHECK(hw::catalog_name("h200_sxm") == "h200_sxm");
  CHECK(preset_of_engine("vllm", "0.12.0") == "vllm-v1");
  CHECK(preset_of_engine("vllm", "") == "vllm-v1");
  CHECK(preset_of_engine("vllm", "0.6.4") == "vllm-v0");
  CHECK(preset_of_engine("trtllm", "1.0.0rc3") == "trtllm");
}

TEST_CASE("a version is numbers with points, and what Python's packages add", "[validate]") {
  CHECK(parse_version("0.12.0") == EngineVersion{0, 12});
  CHECK(parse_version("0.6") == EngineVersion{0, 6});
  CHECK(parse_version("1.2.0rc6.post1") == EngineVersion{1, 2});
  CHECK(parse_version("0.5.8.post1") == EngineVersion{0, 5});
  for (const char* text : {"", "xx", "v0.6.0", "-1", "0.x", "1", "0.6.", "banana", "0.6.0 "})
    CHECK_FALSE(parse_version(text));
  CHECK_FALSE(parse_version(std::string(100'000, '1')));
}

TEST_CASE("a version that cannot be read is refused, not taken for the newest", "[validate]") {
  CHECK(version_mistake("vllm", "v0.6.0") == "'v0.6.0' is no version of vllm");
  CHECK(version_mistake("trtllm", "xx") == "'xx' is no version of trtllm");
  CHECK(version_mistake("vllm", "").empty());
  CHECK(version_mistake("vllm", "0.6").empty());
  CHECK(preset_of_engine("vllm", "0.6") == "vllm-v0");
  CHECK(preset_of_engine("vllm", "0.13.1") == "vllm-v1");
  CHECK(preset_of_engine("vllm", "0.14") == "vllm-v1-async");
  CHECK(preset_of_engine("vllm", "1.0.0") == "vllm-v1-async");
}

TEST_CASE("what is built in is simulated as the source says", "[validate]") {
  Built built = build(qwen(), closed_loop(protocol_named("genai_perf"), 3, 100, 10));
  REQUIRE(built.scenario);
  CHECK(built.scenario->cluster.parallelism.tensor == 2);
  CHECK(built.scenario->engine.max_model_len == 2048);
  const RunResult run = run_audited(*built.scenario);
  CHECK(run.log.records.size() == 30);
  for (const RequestRecord& record : run.log.records) {
    CHECK(record.prompt_tokens == 100);
    CHECK(record.output_tokens == 10);
  }
}

TEST_CASE("a deployment with a pipeline has as many stages", "[validate]") {
  Deployment d = qwen();
  d.pipeline_parallel = 2;
  Built built = build(d, closed_loop(protocol_named("genai_perf"), 3, 100, 10));
  REQUIRE(built.scenario);
  CHECK(built.scenario->cost->stages() == 2);
  CHECK(run_audited(*built.scenario).log.records.size() == 30);
}

TEST_CASE("what is not modelled is refused with its reason", "[validate]") {
  Deployment d = qwen();
  CHECK(refusal(d).empty());
  d.gpu = "tpu";
  CHECK(refusal(d) == "GPU 'tpu' is not in the catalog");
  d = qwen();
  d.model = "someone/else";
  CHECK(refusal(d) == "no model preset for 'someone/else'");
  d = qwen();
  d.pipeline_parallel = 16;
  CHECK(refusal(d) == "a replica larger than a node");
  d = qwen();
  d.tensor_parallel = 16;
  CHECK(refusal(d) == "a replica larger than a node");
  d = qwen();
  d.preset = "nothing";
  CHECK(refusal(d) == "engine.preset: unknown engine 'nothing'");
  d = qwen();
  d.engine_keys = {"max_model_len: 64"};
  CHECK_FALSE(refusal(d).empty());
}

TEST_CASE("a protocol says which lengths are drawn", "[validate]") {
  Built built = build(qwen(), closed_loop(protocol_named("inferencex"), 4, 1000, 500));
  REQUIRE(built.scenario);
  const RunResult run = run_audited(*built.scenario);
  REQUIRE(run.log.records.size() == 40);
  for (const RequestRecord& record : run.log.records) {
    CHECK(record.prompt_tokens >= 800);
    CHECK(record.prompt_tokens <= 1000);
    CHECK(record.output_tokens >= 400);
    CHECK(record.output_tokens <= 500);
  }
}

TEST_CASE("InferenceX is recognised by its models and its three workloads", "[validate]") {
  CHECK(protocol_of("openai/gpt-oss-120b", 8192, 1024).name == "inferencex");
  CHECK(protocol_of("deepseek-ai/DeepSeek-R1", 1024, 8192).name == "inferencex");
  CHECK(protocol_of("openai/gpt-oss-120b", 4000, 1000).name == "genai_perf");
  CHECK(protocol_of("Qwen/Qwen3-32B", 1024, 1024).name == "genai_perf");
}

namespace {

using Keys = std::vector<std::string>;

Deployment server_of(const std::string& model) {
  Deployment d = qwen();
  d.model = model;
  d.engine_keys.clear();
  return d;
}

Keys aiconfigurator(const std::string& engine, const std::string& version, const ClosedLoop& load) {
  Deployment d = server_of("Qwen/Qwen3-32B");
  apply_aiconfigurator_recipe(d, engine, version, load);
  return d.engine_keys;
}

Keys inferencex(const std::string& engine, const std::string& model, const ClosedLoop& load) {
  Deployment d = server_of(model);
  apply_inferencex_recipe(d, engine, load);
  return d.engine_keys;
}

}  // namespace

TEST_CASE("aiconfigurator's servers take one prompt beside the decodes and what it adds",
          "[validate]") {
  CHECK(aiconfigurator("trtllm", "1.0.0rc3", {2048, 128, 8}) ==
        Keys{"max_num_seqs: 8", "max_num_batched_tokens: 3056", "gpu_memory_utilization: 0.8"});
  CHECK(aiconfigurator("trtllm", "1.2.0rc6.post1", {4000, 1000, 32}) ==
        Keys{"max_num_seqs: 512", "max_num_batched_tokens: 6012", "gpu_memory_utilization: 0.8"});
  CHECK(aiconfigurator("vllm", "0.12.0", {1024, 128, 16}) ==
        Keys{"max_num_seqs: 16", "max_num_batched_tokens: 2040"});
  CHECK(aiconfigurator("sglang", "0.5.8", {1024, 128, 16}).empty());
}

TEST_CASE("InferenceX's servers get the arguments of its scripts", "[validate]") {
  CHECK(inferencex("trtllm", "deepseek-ai/DeepSeek-V3", {8192, 1024, 64}) ==
        Keys{"max_num_batched_tokens: 8320", "max_num_seqs: 2048", "gpu_memory_utilization: 0.75"});
  CHECK(inferencex("trtllm", "openai/gpt-oss-120b", {1024, 1024, 4}) ==
        Keys{"max_num_seqs: 4", "max_num_batched_tokens: 20000", "gpu_memory_utilization: 0.85"});
  CHECK(inferencex("vllm", "openai/gpt-oss-120b", {1024, 1024, 4}) ==
        Keys{"max_num_seqs: 4", "max_num_batched_tokens: 8192", "enable_prefix_caching: false"});
  CHECK(inferencex("sglang", "deepseek-ai/DeepSeek-R1", {1024, 1024, 4}) ==
        Keys{"max_num_batched_tokens: 32768", "max_num_seqs: 256", "static_reserve: 25.15 GiB"});
  CHECK(inferencex("vllm", "MiniMaxAI/MiniMax-M2.5", {1024, 1024, 4}).empty());
}

TEST_CASE("per-tensor fp8 of TensorRT-LLM caches in fp8, a 16-bit checkpoint does not",
          "[validate]") {
  Deployment d = qwen();
  d.preset = "trtllm";
  d.weights = "fp8";
  const std::string traffic = closed_loop(protocol_named("genai_perf"), 2, 100, 10);
  REQUIRE(build(d, traffic).scenario);
  CHECK(build(d, traffic).scenario->engine.kv_element == 1);
  d.weights = "";
  CHECK(build(d, traffic).scenario->engine.kv_element == 2);
}

TEST_CASE("means are over the requests after those left out", "[validate]") {
  RunResult run;
  for (const int ms : {100, 10, 30}) {
    RequestRecord& r = run.log.records.emplace_back();
    r.outcome = Outcome::completed;
    r.first_token = TimePoint{} + std::chrono::milliseconds(ms);
    r.finish = r.first_token + std::chrono::milliseconds(4 * ms);
    r.output_tokens = 5;
  }
  run.log.records.back().output_tokens = 1;  // No time between tokens.
  CHECK(mean_latency(run, 0).ttft_ms == Approx(140.0 / 3));
  CHECK(mean_latency(run, 0).tpot_ms == Approx(55.0));
  CHECK(mean_latency(run, 1).ttft_ms == Approx(20.0));
  CHECK(mean_latency(run, 1).tpot_ms == Approx(10.0));
}
