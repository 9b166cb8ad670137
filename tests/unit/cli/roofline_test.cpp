#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/config/node.hpp"
#include "tests/support/tool.hpp"

using namespace tokenline;
using Catch::Contains;
using nlohmann::json;

namespace {

json priced(const Scratch& scratch, const std::string& arguments) {
  const Ran ran = execute(scratch, "roofline " + arguments + " --json");
  INFO(ran.err);
  REQUIRE(ran.exit_code == 0);
  CHECK(ran.err.empty());
  return json::parse(ran.out);
}

const json& named(const json& report, const std::string& name) {
  for (const json& row : report["operators"])
    if (row["operator"] == name) return row;
  FAIL("no operator " + name);
  return report;
}

}  // namespace

TEST_CASE("a decode step is shown by operator, over batches and by hand", "[cli]") {
  const Scratch scratch;
  const Ran ran = execute(scratch, "roofline llama-2-70b --gpu a100 --context 1");
  CHECK(ran.exit_code == 0);
  CHECK_THAT(ran.out, Contains("312.0 TFLOP/s at 16 bit, 2.039 TB/s: ridge at 153.0 FLOP/B"));
  CHECK_THAT(ran.out, Contains("gate_up_proj") && Contains("decode_attention"));
  CHECK_THAT(ran.out, Contains("one token: FLOP/B                                    1.000"));
  CHECK_THAT(ran.out, Contains("one token: ms, weights / bandwidth by hand           67.40"));
  CHECK_THAT(ran.out, Contains("does not fit HBM"));
}

TEST_CASE("operators and kinds of bytes in JSON add up to the step", "[cli]") {
  const Scratch scratch;
  for (const char* step : {"--batch 7 --context 3000", "--prompt-tokens 900 --batch 2"}) {
    const json report = priced(scratch, std::string("llama-2-70b --gpu h100_sxm --tp 8 ") + step);
    for (const char* part : {"flops", "bytes", "time_us", "off_grid_us"}) {
      double sum = 0.0;
      for (const json& row : report["operators"]) sum += row[part].get<double>();
      CHECK(sum == Approx(report["total"][part].get<double>()).epsilon(1e-12));
    }
  }
}

TEST_CASE("the batch that was asked for is a row of its own", "[cli]") {
  const Scratch scratch;
  const json report = priced(scratch, "llama-3.1-8b --gpu h100_sxm --batch 48");
  for (const json& point : report["batches"])
    if (point["batch"] == 48) {
      CHECK(point["time_us"] == report["total"]["time_us"]);
      CHECK(point["bytes"] == report["total"]["bytes"]);
    }
  CHECK(report["batches"].size() == 14);
  CHECK(report["batches"].back()["products_bound"] == "compute");
}

TEST_CASE("sixteen thousand tokens of Llama-2-70B are 2.24 PFLOP of products and 0.35 of attention",
          "[cli]") {
  const Scratch scratch;
  const json report = priced(scratch, "llama-2-70b --gpu h100_sxm --tp 8 --prompt-tokens 16384");
  const double attention = 8.0 * named(report, "prefill_attention")["flops"].get<double>();
  const double products = 8.0 * report["total"]["flops"].get<double>() - attention;
  // 80 layers of q, k, v, o (8192 · 18432) and gate, up, down (3 · 8192 · 28672) for each token,
  // and the LM head for one.
  CHECK(products == Approx(2.0 * 80 * 16384 * 8192 * (18432.0 + 3 * 28672) + 2.0 * 32000 * 8192));
  // 2 · 16384² · 8192 a layer for the causal half, and tiles on the diagonal.
  CHECK(attention == Approx(2.0 * 80 * 16384.0 * 16384 * 8192).epsilon(0.02));
  CHECK(named(report, "gate_up_proj")["bound"] == "compute");
  CHECK(named(report, "norm")["bound"] == "memory");
  CHECK(named(report, "all_reduce")["datasheet_time_us"].is_null());
  CHECK_FALSE(report.contains("decode"));
}

TEST_CASE("weights, KV and kernels as asked", "[cli]") {
  const Scratch scratch;
  const auto bytes = [&](const std::string& options, const char* name) {
    return named(priced(scratch, "llama-3.1-8b --gpu h100_sxm --batch 8 " + options), name)["bytes"]
        .get<double>();
  };
  CHECK(bytes("--quantization fp8", "qkv_proj") < 0.51 * bytes("", "qkv_proj"));
  CHECK(bytes("--kv-cache-dtype fp8", "decode_attention") < 0.52 * bytes("", "decode_attention"));
  CHECK(bytes("--decode-attention plain", "decode_attention") < bytes("", "decode_attention"));
  CHECK(bytes("--prompt-tokens 1024 --prefill-attention naive", "prefill_attention") >
        3 * bytes("--prompt-tokens 1024 --prefill-attention fa2", "prefill_attention"));
  const json mixture = priced(scratch, "qwen3-30b-a3b --gpu h100_sxm");
  CHECK(mixture["experts_knee"]["closed_form_tokens"] > 16 * 295);
}

TEST_CASE("the chart has every operator with FLOPs, inside its frame", "[cli]") {
  const Scratch scratch;
  CHECK(execute(scratch, "roofline llama-3.1-8b --gpu h100_sxm --svg a.svg").exit_code == 0);
  const std::string svg = config::read_file(scratch / "a.svg");
  CHECK_THAT(svg, Contains("<svg xmlns=") && Contains("down_proj: ") && Contains("step: "));
  CHECK_THAT(svg, !Contains("norm: ") && !Contains("nan") && !Contains("inf"));
}

TEST_CASE("a roofline that cannot be meant is exit code 2", "[cli]") {
  const Scratch scratch;
  const auto refuses = [&](const std::string& arguments, const std::string& message) {
    const Ran ran = execute(scratch, "roofline " + arguments);
    INFO(arguments);
    CHECK(ran.exit_code == 2);
    CHECK(ran.out.empty());
    CHECK_THAT(ran.err, Contains(message));
  };
  refuses("", "MODEL is missing");
  refuses("llama-2-7b", "option '--gpu' is missing");
  refuses("llama-2-70 --gpu h100_sxm", "did you mean 'llama-2-70b'?");
  refuses("llama-2-7b --gpu h100_sxn", "did you mean 'h100_sxm'?");
  refuses("llama-2-7b --gpu nope.yaml", "nope.yaml:1:1: error");
  refuses("llama-2-7b --gpu h100_sxm --tp 3", "tensor_parallel_size");
  refuses("llama-2-70b --gpu h100_sxm --tp 16", "spans nodes of 8");
  refuses("llama-2-7b --gpu h100_sxm --batch 0", "--batch 0: expected a whole number from 1 to");
  refuses("llama-2-7b --gpu h100_sxm --context 1e3", "--context 1e3: expected a whole number");
  refuses("llama-2-7b --gpu h100_sxm --past-tokens 5", "--past-tokens is of a prefill step");
  refuses("llama-2-7b --gpu h100_sxm --prompt-tokens 5 --context 5", "--context is of decodes");
  refuses("llama-2-7b --gpu h100_sxm --prompt-tokens 200000 --batch 2", "at most 262144 tokens");
  refuses("llama-2-7b --gpu a100 --prefill-attention fa3", "Hopper");
  refuses("llama-2-7b --gpu h100_sxm --quantization fp9", "did you mean 'fp8'?");
  refuses("llama-2-7b --gpu h100_sxm --svg /proc/nowhere/x", "/proc/nowhere/x");
  CHECK_FALSE(std::filesystem::exists("/proc/nowhere/x"));
}
