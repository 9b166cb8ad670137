// What a scenario may not say, and where it is told.
#include "sim/engine/scenario.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sim/engine/run.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/traffic/support.hpp"

using namespace tokenline;

namespace {

/// Line 2 is the model, 3 the cluster, 4 the engine, 5 the measure window, 9 the lengths.
std::string scenario(const std::string& engine = "max_model_len: 4096",
                     const std::string& cluster = "gpu: h100_sxm",
                     const std::string& model = "llama-3.1-8b",
                     const std::string& measure = "from: 0 s") {
  return "scenario: s\nmodel: " + model + "\ncluster: {" + cluster + "}\nengine: {" + engine +
         "}\nmeasure: {" + measure +
         "}\ntraffic:\n  chat:\n    arrival: {process: poisson, rate: 20/s}\n"
         "    prompt_tokens: 200\n    output_tokens: 20\n    num_prompts: 60\n";
}

/// The report of everything wrong with a scenario; empty when nothing is.
std::string mistakes(const std::string& text, const ScenarioOptions& options = {}) {
  try {
    (void)parse_scenario("s.yaml", text, options);
  } catch (const config::ConfigError& error) {
    return error.what();
  }
  return {};
}

std::string mistakes_with_engine(const std::string& engine) { return mistakes(scenario(engine)); }

/// That `report` is one mistake, which begins and goes on like this.
void is_one(const std::string& report, const std::string& begin, const std::string& later = "") {
  CAPTURE(report);
  CHECK(report.starts_with("s.yaml:" + begin));
  CHECK(report.find(later) != std::string::npos);
  CHECK(report.find("error: ") == report.rfind("error: "));
}

}  // namespace

TEST_CASE("the scenario that the mistakes are made in has none", "[scenario]") {
  CHECK(mistakes(scenario()).empty());
}

TEST_CASE("a tensor-parallel degree must divide the model and fit a node", "[scenario]") {
  const auto with_degree = [](const std::string& degree, const std::string& model) {
    return mistakes(
        scenario("max_model_len: 4096", "gpu: h100_sxm, tensor_parallel_size: " + degree, model));
  };
  const std::string place = "3:48: error: cluster.tensor_parallel_size: ";
  is_one(with_degree("3", "llama-3.1-8b"),
         place + "3 does not divide the 32 attention heads of llama-3.1-8b");
  is_one(with_degree("16", "llama-3.1-8b"), place, "a replica of 16 GPUs spans nodes of 8");
  CHECK(with_degree("2", "llama-3.1-8b").empty());
}

TEST_CASE("a model that does not fit is refused with the sizes", "[scenario]") {
  is_one(mistakes(scenario("max_model_len: 4096", "gpu: h100_sxm", "llama-2-70b")),
         "3:10: error: cluster.tensor_parallel_size: llama-2-70b does not fit h100_sxm: weights",
         "leave no KV block");
  CHECK(mistakes(scenario("max_model_len: 4096", "gpu: h100_sxm, tensor_parallel_size: 8",
                          "llama-2-70b"))
            .empty());
}

TEST_CASE("the pool must hold one request of max_model_len beside its watermark", "[scenario]") {
  is_one(mistakes_with_engine("max_model_len: 4096, num_gpu_blocks_override: 255"),
         "4:25: error: engine.max_model_len: a request of 4096 tokens needs 256 KV blocks; the "
         "pool has 255");
  is_one(
      mistakes_with_engine("max_model_len: 4096, num_gpu_blocks_override: 256, watermark: 0.001"),
      "4:25: error: engine.max_model_len: a request of 4096 tokens needs 256 KV blocks; the "
      "pool has 256, of which 1 stay free");
  CHECK(mistakes_with_engine("max_model_len: 4096, num_gpu_blocks_override: 256").empty());
}

TEST_CASE("blocks beyond the memory of the GPU are refused", "[scenario]") {
  is_one(mistakes_with_engine("max_model_len: 4096, num_gpu_blocks_override: 1_000_000"),
         "4:56: error: engine.num_gpu_blocks_override: 1000000 blocks of 0.002 GiB do not fit");
}

TEST_CASE("with an on-demand pool a single request must be able to run", "[scenario]") {
  const auto report = [](const std::string& attention) {
    return mistakes_with_engine(
        "max_model_len: 32768, max_num_batched_tokens: 32768, kv_sizing: on_demand, "
        "prefill_attention: " +
        attention);
  };
  // S and P of 32 heads · 32768² scores at 16 bit are 128 GiB.
  is_one(report("naive"), "4:25: error: engine.max_model_len: a single request of 32768 tokens",
         "every attempt would run out of memory");
  CHECK(report("fa2").empty());
}

TEST_CASE("a request longer than max_model_len is refused where its length is given",
          "[scenario]") {
  is_one(mistakes_with_engine("max_model_len: 219"),
         "9:20: error: traffic.chat.prompt_tokens: a request of 200 prompt tokens and 220 in all "
         "exceeds max_model_len (219)",
         "raise engine.max_model_len");
  CHECK(mistakes_with_engine("max_model_len: 220").empty());
  // The longer of the two is to blame.
  CHECK(
      mistakes(scenario("max_model_len: 4096"),
               {.overrides = {"traffic.chat.output_tokens={distribution: uniform, min: 1, "
                              "max: 5000}"}})
          .find(": error: traffic.chat.output_tokens.max: a request of 200 prompt tokens and 5200 "
                "in all exceeds max_model_len (4096)") != std::string::npos);
}

TEST_CASE("a trace's longest request is refused at its row", "[scenario]") {
  const Scratch folder;
  (void)folder.write(
      "t.csv",
      "arrival_s,prompt_tokens,output_tokens,class\n0.5,100,10,a\n0.6,3000,2000,b\n1,200,30,a\n");
  const std::string text =
      "scenario: s\nmodel: llama-3.1-8b\ncluster: {gpu: h100_sxm}\nengine: {max_model_len: 4096}\n"
      "traffic: {r: {trace: {file: t.csv, format: csv}}}\n";
  REQUIRE_THROWS_WITH(parse_scenario(folder / "s.yaml", text),
                      folder / "t.csv" +
                          ":3:5: error: trace: a request of 3000 prompt tokens and 5000 in all "
                          "exceeds max_model_len (4096)\n"
                          "  hint: raise engine.max_model_len, or bound the lengths");
  CHECK_NOTHROW(
      parse_scenario(folder / "s.yaml", text, {.overrides = {"traffic.r.trace.class=a"}}));
}

TEST_CASE("degrees of parallelism that do not fit the model are refused at their key",
          "[scenario]") {
  const auto report = [](const std::string& degrees, const std::string& model) {
    return mistakes(scenario("max_model_len: 4096", "gpu: h100_sxm, " + degrees, model));
  };
  is_one(report("attention_data_parallel_size: 2", "llama-3.1-8b"),
         "3:56: error: cluster.attention_data_parallel_size: 2: llama-3.1-8b has no experts");
  is_one(report("expert_parallel_size: 2", "llama-3.1-8b"),
         "3:48: error: cluster.expert_parallel_size: 2: llama-3.1-8b has no experts");
  is_one(report("tensor_parallel_size: 8, expert_parallel_size: 3", "deepseek-v3"),
         "3:73: error: cluster.expert_parallel_size: 3 does not divide the 8 GPUs of a replica");
  is_one(report("tensor_parallel_size: 3", "qwen3-235b-a22b"),
         "3:48: error: cluster.tensor_parallel_size: 3 does not divide the 64 attention heads");
}

TEST_CASE("an engine may quantise the weights, and the KV, of a model", "[scenario]") {
  const auto memory = [](const std::string& keys) {
    return parse_scenario("s.yaml", scenario("max_model_len: 4096, " + keys)).memory;
  };
  auto model = models::load_model("llama-3.1-8b");
  CHECK(memory("quantization: auto").weights == models::weight_bytes(model, {}));
  model.quantization = models::Precision::fp8;
  CHECK(memory("quantization: fp8").weights == models::weight_bytes(model, {}));
  CHECK(memory("quantization: fp8").weights < 0.6 * memory("quantization: auto").weights);
  CHECK(memory("kv_cache_dtype: fp8").block == 0.5 * memory("kv_cache_dtype: auto").block);
}

TEST_CASE("a kernel the GPU lacks is refused with the reason", "[scenario]") {
  const auto report = [](const std::string& kernel) {
    return mistakes(
        scenario("max_model_len: 4096, prefill_attention: " + kernel, "gpu: a100_sxm_80gb"));
  };
  is_one(report("fa3"), "4:50: error: engine.prefill_attention: fa3 needs the asynchronous",
         "a100_sxm_80gb has none");
  CHECK(report("auto").empty());
}

TEST_CASE("an unknown name is met where it stands, with the nearest one", "[scenario]") {
  is_one(mistakes(scenario("preset: vlm-v1, max_model_len: 4096")),
         "4:18: error: engine.preset: unknown engine 'vlm-v1'", "did you mean 'vllm-v1'?");
  is_one(mistakes(scenario("max_model_len: 4096", "gpu: h100_sx")),
         "3:16: error: cluster.gpu: ", "did you mean 'h100_sxm'?");
  is_one(mistakes(scenario("max_model_len: 4096", "gpu: h100_sxm", "lama-3.1-8b")),
         "2:8: error: model: ", "did you mean 'llama-3.1-8b'?");
  is_one(mistakes_with_engine("max_model_len: 4096, num_gpu_block_override: 3"),
         "4:31: error: engine.num_gpu_block_override: unknown key",
         "did you mean 'num_gpu_blocks_override'?");
  is_one(mistakes_with_engine("preset: [vllm-v1]"), "4:18: error: engine.preset: expected a text");
}

TEST_CASE("a model or GPU that is not given is one mistake", "[scenario]") {
  const std::string traffic =
      "traffic: {c: {arrival: {process: constant, rate: 1/s}, num_prompts: 1, prompt_tokens: 5, "
      "output_tokens: 9}}\n";
  is_one(mistakes("scenario: s\ncluster: {gpu: h100_sxm}\n" + traffic),
         "1:1: error: model: required key is missing");
  is_one(mistakes(scenario("max_model_len: 4096", "replicas: 2")),
         "3:10: error: cluster.gpu: required key is missing");
  is_one(mistakes(scenario("max_model_len: 4096", "gpu: ")),
         "3:11: error: cluster.gpu: expected a text, got nothing");
  is_one(mistakes("scenario: s\nmodel: llama-3.1-8b\n" + traffic),
         "1:1: error: cluster: required key is missing");
}

TEST_CASE("a measure window must not end before it begins", "[scenario]") {
  const auto report = [](const std::string& window) {
    return mistakes(scenario("max_model_len: 4096", "gpu: h100_sxm", "llama-3.1-8b", window));
  };
  is_one(report("from: 5 s, to: 5 s"), "5:26: error: measure.to: the window ends before it begins");
  is_one(report("from: 5, to: 3 s"), "5:17: error: measure.from: '5' is a bare number");
  is_one(report("form: 5 s"), "5:11: error: measure.form: unknown key");
  CHECK(report("to: 3 s").empty());
}

TEST_CASE("a step must hold the decodes, and whole prompts where they are not cut", "[scenario]") {
  is_one(mistakes_with_engine("max_model_len: 4096, max_num_seqs: 64, max_num_batched_tokens: 63"),
         "4:73: error: engine.max_num_batched_tokens: max_num_batched_tokens (63) is less than "
         "max_num_seqs (64)");
  for (const char* scheduler : {"orca", "static", "prefill_first"})
    is_one(mistakes_with_engine(std::string("max_model_len: 4096, max_num_batched_tokens: 4095, "
                                            "scheduler: ") +
                                scheduler),
           "4:55: error: engine.max_num_batched_tokens: max_num_batched_tokens (4095) is less than "
           "max_model_len (4096)",
           "scheduler: chunked");
  CHECK(mistakes_with_engine("max_model_len: 4096, max_num_batched_tokens: 4095").empty());
}

TEST_CASE("what contradicts a preset is blamed on the key that was given", "[scenario]") {
  is_one(mistakes_with_engine("max_num_seqs: 9000"), "4:24: error: engine.max_num_seqs: ");
  is_one(mistakes_with_engine("max_model_len: 16384, scheduler: orca"),
         "4:25: error: engine.max_model_len: ", "scheduler: chunked");
}

TEST_CASE("more tokens than the model has positions are refused unless allowed", "[scenario]") {
  is_one(mistakes_with_engine("max_model_len: 131_073"),
         "4:25: error: engine.max_model_len: 131073 is more than the 131072 positions",
         "allow_long_max_model_len");
  CHECK(mistakes_with_engine("max_model_len: 131_073, allow_long_max_model_len: true").empty());
  CHECK(mistakes_with_engine("max_model_len: 131_072").empty());
}

TEST_CASE("all mistakes of a file come out together, in the order of the text", "[scenario]") {
  const std::string report = mistakes(
      "scenario: s\n"
      "model: lama-3.1-8b\n"
      "cluster: {gpu: h10, replicas: 0}\n"
      "engine: {preset: vlm-v1, blok_size: 3}\n"
      "traffic:\n"
      "  chat: {arrival: {process: poison, rate: 5}, prompt_tokens: 0, output_tokens: 1, stp: 1 "
      "s}\n",
      {.overrides = {"seed=-1", "engine..x=3"}});
  std::vector<std::string> places;
  for (std::size_t at = 0; (at = report.find(": error: ", at)) != std::string::npos; ++at) {
    const std::size_t line = report.rfind('\n', at) + 1;
    const std::size_t path = at + std::string(": error: ").size();
    places.push_back(
        report.substr(line, std::min(report.find(": ", path), report.find('\n', path)) - line));
  }
  CHECK(places == std::vector<std::string>{
                      "--set engine..x=3:1:1: error: an empty key in the path",
                      "--set seed=-1:1:1: error: seed", "s.yaml:2:8: error: model",
                      "s.yaml:3:16: error: cluster.gpu", "s.yaml:3:31: error: cluster.replicas",
                      "s.yaml:4:18: error: engine.preset", "s.yaml:4:26: error: engine.blok_size",
                      "s.yaml:6:19: error: traffic.chat.arrival",
                      "s.yaml:6:29: error: traffic.chat.arrival.process",
                      "s.yaml:6:43: error: traffic.chat.arrival.rate",
                      "s.yaml:6:62: error: traffic.chat.prompt_tokens",
                      "s.yaml:6:83: error: traffic.chat.stp"});
}

TEST_CASE("checks of sections that are right go on beside a mistake in another", "[scenario]") {
  const std::string report =
      mistakes(scenario("max_model_len: 4096", "gpu: h100_sxm, tensor_parallel_size: 3"),
               {.overrides = {"traffic.chat.prompt_tokens=0"}});
  CHECK(report.find("s.yaml:3:48: error: cluster.tensor_parallel_size: 3 does not divide") !=
        std::string::npos);
  CHECK(report.find("traffic.chat.prompt_tokens: 0 is out of range") != std::string::npos);
}

TEST_CASE("mistakes of overrides are at the override, and all come out", "[scenario]") {
  CHECK(mistakes(scenario(), {.overrides = {"engine.block_size", "engine.block_size=0",
                                            "engine.blok_size=3"}}) ==
        "--set engine.block_size:1:1: error: no '=' in the override\n"
        "  hint: write --set path.to.key=value\n"
        "--set engine.block_size=0:1:1: error: engine.block_size: 0 is out of range: must be 1 to "
        "1024\n"
        "--set engine.blok_size=3:1:1: error: engine.blok_size: unknown key\n"
        "  hint: did you mean 'block_size'?");
  CHECK(mistakes(scenario(), {.overrides = {"engine.preset=vlm-v1"}}) ==
        "--set engine.preset=vlm-v1:1:1: error: engine.preset: unknown engine 'vlm-v1'\n"
        "  hint: did you mean 'vllm-v1'?");
}

TEST_CASE("a key of the preset can be overridden, and the rest of it stays", "[scenario]") {
  const Scenario orca =
      parse_scenario("s.yaml", scenario("preset: orca, max_num_seqs: 7, max_model_len: 4096"),
                     {.overrides = {"engine.host_overhead_per_step=2 ms"}});
  CHECK(orca.engine.preset == "orca");
  CHECK(orca.engine.max_num_seqs == 7);
  CHECK(orca.engine.host_overhead_per_step.value() == 0.002);
  CHECK(orca.engine.scheduler == "orca");
  CHECK(orca.engine.kv_layout == KvLayout::contiguous);
}

TEST_CASE("every engine preset serves a small scenario", "[scenario]") {
  for (const std::string& preset : engine_preset_names()) {
    INFO(preset);
    Scenario s = parse_scenario("s.yaml", scenario("preset: " + preset + ", max_model_len: 4096"));
    CHECK(s.engine.preset == preset);
    CHECK(run(s).audit.passed);
  }
}

TEST_CASE("a prompt that no step can hold whole is refused where its length is given",
          "[scenario]") {
  const std::string engine = "preset: trtllm, max_model_len: 4096, max_num_batched_tokens: ";
  is_one(mistakes_with_engine(engine + "199, max_num_seqs: 99"),
         "9:20: error: traffic.chat.prompt_tokens: a prompt of 200 tokens exceeds "
         "max_num_batched_tokens (199)",
         "raise engine.max_num_batched_tokens");
  CHECK(mistakes_with_engine(engine + "200, max_num_seqs: 99").empty());
}

TEST_CASE("without an engine section, or with an empty one, vllm-v1 serves", "[scenario]") {
  const std::string rest =
      "scenario: s\nmodel: llama-3.1-8b\ncluster: {gpu: h100_sxm}\n"
      "traffic: {c: {arrival: {process: constant, rate: 1/s}, num_prompts: 1, prompt_tokens: 5, "
      "output_tokens: 9}}\n";
  for (const char* section : {"", "engine:\n", "engine: {}\n"}) {
    const Scenario s = parse_scenario("s.yaml", rest + section);
    CHECK(s.engine.preset == "vllm-v1");
    CHECK(s.engine.max_num_seqs == 1024);
  }
}
