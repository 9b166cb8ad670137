// Each comparison against measurements made by the simulator itself: no error is left.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "hwmodels/kernels/attention.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/run_directory.hpp"
#include "tests/support/scratch.hpp"
#include "tools/validate/all.hpp"
#include "tools/validate/attention.hpp"
#include "tools/validate/deployment.hpp"
#include "tools/validate/errors.hpp"
#include "tools/validate/operators.hpp"
#include "tools/validate/output.hpp"
#include "tools/validate/protocol.hpp"
#include "tools/validate/recipe.hpp"
#include "tools/validate/requests.hpp"
#include "tools/validate/silicon.hpp"
#include "tools/validate/throughput.hpp"

using namespace tokenline;
using namespace tokenline::validate;

using report::write_file;

namespace {

constexpr const char* silicon_header =
    "model,gpu,engine,engine_version,gemm_dtype,tp,pp,attention_dp,moe_tp,moe_ep,isl,osl,"
    "concurrency,ttft_ms_mean,tpot_ms_mean\n";

Deployment llama(const std::string& key) {
  return {.model = "meta-llama/Llama-3.1-8B",
          .gpu = "h100_sxm",
          .preset = "vllm-v1",
          .weights = "",
          .engine_keys = {key}};
}

/// Requests in the format of a recording, as the simulator serves them.
std::string recorded_by(Scenario& scenario) {
  const RunResult run = run_audited(scenario);
  std::string out = "arrival_s,prompt_tokens,output_tokens,ttft_ms,tpot_ms,e2e_ms\n";
  for (const RequestRecord& r : run.log.records)
    out += fmt::format(
        "{:.9f},{},{},{},{},{}\n", to_seconds(r.arrival.time_since_epoch()).value(),
        r.prompt_tokens, r.output_tokens, report::milliseconds(r.ttft()),
        report::milliseconds(r.e2el() - r.ttft()) / static_cast<double>(r.output_tokens - 1),
        report::milliseconds(r.e2el()));
  return out;
}

constexpr const char* poisson =
    "  chat:\n    arrival: {process: poisson, rate: 20/s}\n    num_prompts: 200\n"
    "    prompt_tokens: {distribution: uniform, min: 10, max: 900}\n"
    "    output_tokens: {distribution: uniform, min: 2, max: 90}\n";

}  // namespace

TEST_CASE("a closed-loop row measured on the simulator has no error", "[validate]") {
  const Scratch folder;
  Deployment server = llama("max_model_len: 856");
  apply_aiconfigurator_recipe(server, "vllm", "0.12.0", {500, 100, 4});
  Built built = build(server, closed_loop(protocol_named("genai_perf"), 4, 500, 100));
  REQUIRE(built.scenario);
  const Latency truth = mean_latency(run_audited(*built.scenario), 0);
  write_file(
      folder / "s.csv",
      fmt::format("{}meta-llama/Llama-3.1-8B,h100_sxm,vllm,0.12.0,,1,1,1,1,1,500,100,4,{},{}\n"
                  "x/y,h100_sxm,vllm,0.12.0,,1,1,1,1,1,500,100,4,1,1\n",
                  silicon_header, truth.ttft_ms, 2.0 * truth.tpot_ms));
  const Comparison all = compare_silicon(folder / "s.csv", {});
  CHECK(*errors_of(all.rows, "ttft_mean").mean_ape == Approx(0.0).margin(1e-9));
  CHECK(*errors_of(all.rows, "tpot_mean").bias == Approx(-0.5));
  CHECK(errors_of(all.rows, "tpot_mean").refused == 1);

  const Comparison one = compare_silicon(
      folder / "s.csv", {.where = {{"model", "llama-3.1-8b"}, {"tp", "1"}}, .protocol = ""});
  CHECK(one.rows.size() == 2);
  CHECK_THROWS_WITH(compare_silicon(folder / "s.csv", {.where = {{"tp", "2"}}, .protocol = ""}),
                    Catch::Contains("s.csv:1:1: error: tp: no row is left to compare with tp=2"));
}

TEST_CASE("a GPU and a model are chosen by any of their names", "[validate]") {
  const Scratch folder;
  write_file(folder / "s.csv", std::string(silicon_header) +
                                   "Qwen/Qwen3-32B,h100_sxm,vllm,0.12.0,,2,1,1,1,1,100,5,1,1,1\n");
  const auto rows = [&](const std::string& column, const std::string& value) {
    return compare_silicon(folder / "s.csv", {.where = {{column, value}}, .protocol = ""})
        .rows.size();
  };
  for (const char* gpu : {"h100_sxm", "h100", "H100-SXM-80GB"}) CHECK(rows("gpu", gpu) == 2);
  for (const char* model : {"Qwen/Qwen3-32B", "qwen3-32b", "someone/Qwen3-32B"})
    CHECK(rows("model", model) == 2);
  CHECK_THROWS_WITH(rows("gpu", "h100_sxn"), Catch::Contains("did you mean 'h100_sxm'?"));
}

TEST_CASE("an answer of one token has a TTFT and no TPOT", "[validate]") {
  const Scratch folder;
  write_file(folder / "s.csv", std::string(silicon_header) +
                                   "Qwen/Qwen3-32B,h100_sxm,vllm,0.12.0,,2,1,1,1,1,100,1,1,10,1\n");
  const Comparison c = compare_silicon(folder / "s.csv", {});
  REQUIRE(c.rows.size() == 2);
  CHECK(c.rows[0].predicted);
  CHECK_FALSE(c.rows[1].predicted);
  CHECK(c.rows[1].refused == "an answer of one token has no time between tokens");
}

TEST_CASE("a row of an engine whose version cannot be read is refused", "[validate]") {
  const Scratch folder;
  std::string text = silicon_header;
  for (const char* engine : {"vllm,xx", "vllm,v0.6.0", "vllm,-1", "vllm,0.x", "trtllm,xx"})
    text += fmt::format("Qwen/Qwen3-32B,h100_sxm,{},,2,1,1,1,1,100,5,1,1,1\n", engine);
  write_file(folder / "s.csv", text);
  const Comparison c = compare_silicon(folder / "s.csv", {});
  CHECK(errors_of(c.rows, "ttft_mean").refused == 5);
  CHECK(c.rows[0].refused == "'xx' is no version of vllm");
  write_file(folder / "t.csv",
             "trtllm_version,model,hardware,tp,pp,dtype,isl,osl,output_tok_per_s_total\n"
             ",Llama-3.1-8B,h100_sxm,1,1,fp8,128,128,9\n"
             "banana,Llama-3.1-8B,h100_sxm,1,1,fp8,128,128,9\n");
  const Comparison t = compare_throughput(folder / "t.csv", 1);
  REQUIRE(t.rows.size() == 2);
  CHECK(t.rows[0].refused == "trtllm_version is not stated");
  CHECK(t.rows[1].refused == "'banana' is no version of trtllm");
}

TEST_CASE("what a table says of a type cannot become another key of the engine", "[validate]") {
  const Scratch folder;
  write_file(
      folder / "s.csv",
      std::string(silicon_header) +
          "Qwen/Qwen3-32B,h100_sxm,vllm,0.12.0,\"fp8, block_size: 1\",2,1,1,1,1,9,5,1,1,1\n");
  CHECK_THROWS_WITH(compare_silicon(folder / "s.csv", {}),
                    Catch::Contains("gemm_dtype: expected a name, got 'fp8, block_size: 1'"));
}

TEST_CASE("experts that fill other GPUs than attention are refused", "[validate]") {
  const Scratch folder;
  write_file(folder / "s.csv",
             std::string(silicon_header) +
                 "Qwen/Qwen3-32B,h100_sxm,vllm,0.12.0,,4,1,1,2,1,500,100,4,1,1\n");
  const Comparison c = compare_silicon(folder / "s.csv", {});
  CHECK(c.rows.front().refused == "moe_tp x moe_ep differs from tp x attention_dp");
}

TEST_CASE("results do not depend on the number of threads", "[validate]") {
  const Scratch folder;
  std::string text = silicon_header;
  for (int clients = 1; clients <= 12; ++clients)
    text +=
        fmt::format("Qwen/Qwen3-32B,h100_sxm,vllm,0.12.0,,2,1,1,1,1,300,50,{},100,10\n", clients);
  write_file(folder / "s.csv", text);
  const auto run = [&](std::size_t threads) {
    const Comparison c =
        compare_silicon(folder / "s.csv", {.where = {}, .protocol = "", .threads = threads});
    return csv(c) + json(c) + validate::text(c);
  };
  const std::string once = run(1);
  CHECK(once == run(1));
  CHECK(once == run(4));
}

TEST_CASE("a recording of the simulator is replayed to the nanosecond", "[validate]") {
  const Scratch folder;
  Built built = build(llama("max_num_seqs: 16"), poisson);
  REQUIRE(built.scenario);
  write_file(folder / "requests.csv", recorded_by(*built.scenario));
  write_file(folder / "run.json",
             R"({"model": "meta-llama/Llama-3.1-8B", "vllm_version": "0.12.0", "gpu": "h100_sxm",
                 "engine_kwargs": {"tensor_parallel_size": 1, "max_num_seqs": 16,
                                   "max_model_len": null, "dtype": "bfloat16"}})");
  const Comparison c = compare_requests(folder.path(), std::nullopt);
  CHECK(c.rows.size() == 15);
  for (const char* metric : {"ttft", "tpot", "e2e"})
    CHECK(*errors_of(c.rows, metric).mean_ape == Approx(0.0).margin(1e-9));
  CHECK(c.figures.empty());
}

TEST_CASE("queue depths are compared instant by instant", "[validate]") {
  const Scratch folder;
  // One request at a time: running at 0.5 s, gone at 1000 s.
  write_file(folder / "requests.csv",
             "arrival_s,prompt_tokens,output_tokens,ttft_ms,tpot_ms,e2e_ms\n0,100,500,10,6,3000\n");
  write_file(folder / "run.json",
             R"({"model": "meta-llama/Llama-3.1-8B", "vllm_version": "0.12.0", "gpu": "h100_sxm",
                 "engine_kwargs": {}})");
  write_file(folder / "timeseries.csv", "t,running,waiting\n0.5,3,1\n1000,0,0\n");
  const Comparison c = compare_requests(folder.path(), std::nullopt);
  REQUIRE(c.figures.size() == 6);
  CHECK(c.figures[0].first.ends_with(".running_measured_mean"));
  CHECK(c.figures[0].second == 1.5);
  CHECK(c.figures[1].second == 0.5);  // (1 + 0) / 2
  CHECK(c.figures[2].second == 1.0);  // (|1 − 3| + 0) / 2
  CHECK(c.figures[5].first.ends_with(".waiting_mean_absolute_difference"));
  CHECK(c.figures[5].second == 0.5);
}

TEST_CASE("DistServe's runs name the replicas that prefill and those that decode", "[validate]") {
  const Scratch folder;
  write_file(folder / "runs.csv",
             "run,arrival_s,prompt_tokens,output_tokens,ttft_ms,tpot_ms,e2e_ms\n"
             "distserve-c21d11-1-1,0,100,10,50,30,320\n"
             "distserve-c21d12-1-1,0,100,10,50,30,320\n");
  const Comparison all = compare_requests(folder / "runs.csv", std::nullopt);
  for (const Row& row : all.rows) {
    CHECK(row.predicted.has_value() == (row.group == "distserve-c21d11-1-1"));
    if (!row.predicted) CHECK_THAT(row.refused, Catch::Contains("pipelines is not modelled"));
  }
  // 100 tokens on two A100 with the host's 8 ms, then a step of a lone decode for each token.
  CHECK_THAT(*all.rows.front().predicted, Catch::WithinAbs(25.0, 10.0));
}

TEST_CASE(
    "of a file of runs one can be chosen, and those whose servers it does not state are refused",
    "[validate]") {
  const Scratch folder;
  write_file(folder / "runs.csv",
             "run,arrival_s,prompt_tokens,output_tokens,ttft_ms,tpot_ms,e2e_ms\n"
             "vllm-2-1,0,100,10,50,30,320\nvllm-2-1,1,100,10,50,30,320\n"
             "distserve-1-1,0,100,10,50,30,320\n");
  const Comparison all = compare_requests(folder / "runs.csv", std::nullopt);
  CHECK(groups_of(all.rows) == std::vector<std::string>{"vllm-2-1", "distserve-1-1"});
  CHECK(errors_of(all.rows, "ttft").rows == 5);
  CHECK(errors_of(all.rows, "ttft").refused == 5);
  CHECK(compare_requests(folder / "runs.csv", "vllm-2-1").rows.size() == 15);
  CHECK_THROWS_WITH(
      compare_requests(folder / "runs.csv", "vllm-2-2"),
      Catch::Contains("no run is named 'vllm-2-2'") && Catch::Contains("did you mean 'vllm-2-1'?"));
}

TEST_CASE("a recording that goes back in time is a mistake", "[validate]") {
  const Scratch folder;
  write_file(folder / "runs.csv",
             "run,arrival_s,prompt_tokens,output_tokens,ttft_ms,tpot_ms,e2e_ms\n"
             "vllm-2-1,1,100,10,50,30,320\nvllm-2-1,0,100,10,50,0,320\n");
  CHECK_THROWS_WITH(compare_requests(folder / "runs.csv", std::nullopt),
                    Catch::Contains(":3:10: error: arrival_s: earlier than the request before") &&
                        Catch::Contains(":3:22: error: tpot_ms: no time between tokens"));
}

TEST_CASE("the number of queued requests is the documentation's", "[validate]") {
  CHECK(queued_requests(128, 128) == 30'000);
  CHECK(queued_requests(2048, 128) == 3000);
  CHECK(queued_requests(20'000, 2000) == 1000);
  CHECK(queued_requests(128, 4096) == 1500);
  CHECK(queued_requests(2048, 2048) == 1500);
  CHECK(queued_requests(100, 150) == 30'000);  // Nearest by the sum of lengths: 128 + 128.
}

TEST_CASE("attention speeds follow the papers' conventions", "[validate]") {
  const Scratch folder;
  const hw::Gpu h100 = hw::load_gpu("h100_sxm");
  const Seconds time =
      hw::prefill_attention(h100, hw::PrefillKernel::fa3, {.q = 16, .kv = 16, .dim = 128},
                            {.new_tokens = 4096, .batch = 4, .causal = true, .cache_update = false})
          .time;
  const double flops = 4.0 * 4096 * 4096 * 128 * 16 * 4 / 2;
  write_file(folder / "a.csv",
             fmt::format("hardware,pass,head_dim,causal,kernel,seqlen,tflops_per_s\n"
                         "H100-SXM5-80GB,fwd,128,1,FA3,4096,{}\n"
                         "H100-SXM5-80GB,fwd,128,1,cuDNN,4096,500\n"
                         "A100-SXM4-80GB,fwd+bwd,64,0,FA1,2048,50\n"
                         "A100-SXM4-80GB,fwd+bwd,64,0,FA2,2048,100\n"
                         "A100-SXM4-80GB,fwd+bwd,64,0,FA2,512,100\n",
                         flops / time.value() / 1e12));
  const Comparison c = compare_attention(folder / "a.csv");
  const Errors speed = errors_of(c.rows, "tflops_per_s");
  CHECK(speed.rows == 1);
  CHECK(speed.refused == 1);
  CHECK(*speed.mean_ape == Approx(0.0).margin(1e-12));
  // FA2 over FA1 was 100 / 50; the row without an FA1 beside it is refused.
  const Errors ratio = errors_of(c.rows, "fa2_over_fa1");
  CHECK(ratio.rows == 1);
  CHECK(ratio.refused == 1);
  CHECK(c.rows[2].measured == 2.0);
}

TEST_CASE("a kernel is refused where it does not run, and no row disappears", "[validate]") {
  const Scratch folder;
  write_file(folder / "a.csv",
             "hardware,pass,head_dim,causal,kernel,seqlen,tflops_per_s\n"
             "a100_sxm_80gb,fwd,128,0,FA3,512,100\n"
             "a100_sxm_80gb,fwd+bwd,64,0,FA1,512,100\n"
             "a100_sxm_80gb,bwd,64,0,FA3,512,100\n");
  const Comparison c = compare_attention(folder / "a.csv");
  REQUIRE(c.rows.size() == 3);
  CHECK(c.rows[0].refused ==
        "FA3 needs the asynchronous instructions of Hopper; a100_sxm_80gb has none");
  CHECK(c.rows[1].refused == "no FA2 row of the same shape");
  CHECK(c.rows[2].refused == "pass 'bwd' is not modelled");
  write_file(folder / "bad.csv",
             "hardware,pass,head_dim,causal,kernel,seqlen,tflops_per_s\n"
             "h100,banana,1024,7,FA2,99999,inf\n");
  CHECK_THROWS_WITH(compare_attention(folder / "bad.csv"),
                    Catch::Contains(":2:6: error: pass: unknown value 'banana'") &&
                        Catch::Contains(":2:13: error: head_dim: expected a whole number from 1") &&
                        Catch::Contains(":2:18: error: causal: expected a whole number from 0") &&
                        Catch::Contains(":2:24: error: seqlen:") &&
                        Catch::Contains(":2:30: error: tflops_per_s:"));
}

TEST_CASE("refused kernel calls are counted one by one, with what was measured", "[validate]") {
  const Scratch folder;
  write_file(folder / "gemm.csv",
             "m,n,k,latency_us,dtype\n1,64,64,3,int4\n2,64,64,136.018,int4\n4,64,64,3,int4\n"
             "1,64,64,136.018,bfloat16\n");
  const Comparison c = compare_operators(folder.path(), "h100");
  CHECK(errors_of(c.rows, "time").refused == 3);
  const auto refusals = refusals_of(c.rows);
  REQUIRE(refusals.size() == 1);
  CHECK(refusals[0].count == 3);
  CHECK(refusals[0].reason == "dtype int4 is not modelled");
  CHECK_THAT(csv(c), Catch::Contains(",line 3,136.018,,,dtype int4 is not modelled\n") &&
                         Catch::Contains("n=64 k=64 m=1,136.018,"));
}

TEST_CASE("ceilings are held against errors and refusals, and must be there", "[validate]") {
  const Row good{.group = "g",
                 .metric = "m",
                 .unit = "",
                 .label = "1",
                 .measured = 10.0,
                 .predicted = 11.0,
                 .refused = ""};
  const Row bad{.group = "g",
                .metric = "m",
                .unit = "",
                .label = "2",
                .measured = 10.0,
                .predicted = {},
                .refused = "why"};
  const std::vector<Check> checks{{"c", {.title = "t", .rows = {good, bad}, .figures = {}}}};
  const auto verdict = [&](const std::string& metrics) {
    return judge(checks, parse_ceilings("c.yaml", "ceilings: {c: {metrics: " + metrics + "}}"));
  };
  CHECK(verdict("{m: {mean_ape_pct: 10.1, refused: 1}}").passed);
  CHECK_FALSE(verdict("{m: {mean_ape_pct: 9.9, refused: 1}}").passed);
  CHECK_FALSE(verdict("{m: {mean_ape_pct: 10.1, refused: 0}}").passed);
  CHECK_FALSE(verdict("{m: {refused: 1}}").passed);
  const Verdict unknown =
      verdict("{m: {mean_ape_pct: 10.1, refused: 1}, n: {mean_ape_pct: 1, refused: 0}}");
  CHECK_FALSE(unknown.passed);
  CHECK_THAT(unknown.text, Catch::Contains("c n: has a ceiling and no row"));
  const Verdict missing = judge(checks, {});
  CHECK_FALSE(missing.passed);
  CHECK_THAT(missing.text, Catch::Contains("c m: has no ceiling"));
  CHECK_THROWS_AS(verdict("{m: {mean_ape: 3, refused: 1}}"), config::ConfigError);
}
