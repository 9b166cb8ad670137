// Recordings in folders: what of a run.json is simulated, what refuses it, what contradicts itself.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "sim/config/diagnostic.hpp"
#include "sim/report/run_directory.hpp"
#include "tests/support/scratch.hpp"
#include "tools/validate/errors.hpp"
#include "tools/validate/requests.hpp"

using namespace tokenline;
using namespace tokenline::validate;

using report::write_file;

namespace {

/// Why a recording of one request with these engine arguments is refused.
std::string refusal_of(const std::string& arguments, const std::string& version = "0.12.0") {
  const Scratch folder;
  write_file(folder / "requests.csv",
             "arrival_s,prompt_tokens,output_tokens,ttft_ms,tpot_ms,e2e_ms\n0,100,5,10,6,34\n");
  write_file(folder / "run.json",
             fmt::format(R"({{"model": "meta-llama/Llama-3.1-8B", "vllm_version": "{}",
                              "gpu": "h100_sxm", "num_requests": 1, "engine_kwargs": {{{}}}}})",
                         version, arguments));
  const Comparison c = compare_requests(folder.path(), std::nullopt);
  CHECK(errors_of(c.rows, "ttft").refused == (c.rows.front().refused.empty() ? 0 : 5));
  return c.rows.front().refused;
}

}  // namespace

TEST_CASE("an engine argument that would change the server refuses the recording", "[validate]") {
  for (const char* argument :
       {R"("dtype": "float32")", R"("kv_cache_dtype": "int8")",
        R"("enable_chunked_prefill": false)", R"("enforce_eager": true)",
        R"("speculative_config": {"num_speculative_tokens": 3})", R"("block_sise": 32)"})
    CHECK_THAT(refusal_of(argument),
               Catch::StartsWith("engine argument ") && Catch::EndsWith(" is not modelled"));
  CHECK(refusal_of(R"("dtype": "float32")") == "engine argument dtype: float32 is not modelled");
  CHECK(refusal_of(R"("quantization": "awq")") == "engine.quantization: unknown value 'awq'");
  CHECK_FALSE(refusal_of(R"("enable_expert_parallel": true, "tensor_parallel_size": 2)").empty());
  CHECK(refusal_of("", "banana") == "'banana' is no version of vllm");
}

TEST_CASE("an engine argument at its default, or without effect on time, refuses nothing",
          "[validate]") {
  CHECK(refusal_of(R"("dtype": "auto", "kv_cache_dtype": "auto", "enforce_eager": false, "seed": 3,
                      "speculative_config": null, "enable_expert_parallel": false,
                      "enable_chunked_prefill": true, "model": "meta-llama/Llama-3.1-8B")")
            .empty());
  CHECK(refusal_of(R"("enable_chunked_prefill": false)", "0.6.4").empty());
}

TEST_CASE("engine arguments that are modelled change the prediction", "[validate]") {
  const auto ttft = [](const std::string& arguments) {
    const Scratch folder;
    write_file(folder / "requests.csv",
               "arrival_s,prompt_tokens,output_tokens,ttft_ms,tpot_ms,e2e_ms\n0,4000,5,10,6,34\n");
    write_file(folder / "run.json",
               R"({"model": "meta-llama/Llama-3.1-8B", "vllm_version": "0.12.0", "gpu": "h100_sxm",
                   "engine_kwargs": {)" +
                   arguments + "}}");
    return *compare_requests(folder.path(), std::nullopt).rows.front().predicted;
  };
  CHECK(ttft(R"("quantization": "fp8")") < ttft(""));
  CHECK(ttft(R"("max_num_seqs": 64, "max_num_batched_tokens": 512)") > ttft(""));
  CHECK(ttft(R"("kv_cache_dtype": "fp8")") != ttft(""));
}

TEST_CASE("a recording that contradicts itself is a mistake at its place", "[validate]") {
  const Scratch folder;
  const auto says = [&](const std::string& json, const std::string& row) {
    write_file(folder / "run.json", json);
    write_file(folder / "requests.csv",
               "arrival_s,prompt_tokens,output_tokens,ttft_ms,tpot_ms,e2e_ms\n" + row + "\n");
    try {
      static_cast<void>(compare_requests(folder.path(), std::nullopt));
    } catch (const config::ConfigError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const std::string begin =
      R"({"model": "meta-llama/Llama-3.1-8B", "vllm_version": "0.12.0", "gpu": "h100_sxm",)";
  CHECK_THAT(says(begin + "\n\"num_requests\": 300, \"engine_kwargs\": {}}", "0,100,5,10,6,34"),
             Catch::Contains("run.json:2:17: error: num_requests: 300, but requests.csv has 1"));
  CHECK_THAT(
      says(begin + "\n\"engine_kwargs\": {\"model\": \"opt\"}}", "0,100,5,10,6,9"),
      Catch::Contains("run.json:2:28: error: engine_kwargs.model: 'opt', but the run is of") &&
          Catch::Contains("requests.csv:2:14: error: e2e_ms: the last token after 9 ms"));
  CHECK_THAT(says(begin + "\"engine_kwargs\": {}}", "1e300,100,5,10,6,34"),
             Catch::Contains("requests.csv:2:1: error: arrival_s: expected a number from 0 to"));
}

TEST_CASE("a folder holds one run, which may be named", "[validate]") {
  const Scratch folder;
  write_file(folder / "run.json",
             R"({"model": "x/y", "vllm_version": "0.12.0", "gpu": "h100", "engine_kwargs": {}})");
  write_file(folder / "requests.csv",
             "arrival_s,prompt_tokens,output_tokens,ttft_ms,tpot_ms,e2e_ms\n0,100,5,10,6,34\n");
  const std::string name = folder.path().substr(folder.path().rfind('/') + 1);
  CHECK(compare_requests(folder.path(), name).rows.size() == 15);
  CHECK_THROWS_WITH(compare_requests(folder.path(), "nope"),
                    Catch::Contains("no run is named 'nope'"));
}
