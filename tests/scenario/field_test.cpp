#include "tests/scenario/support.hpp"

using namespace tokenline;
using namespace tokenline::scenario_test;

namespace {

const std::string field = "scenarios/field/";

/// The variants of a field study by name, run once.
struct Variants : StudyRuns {
  explicit Variants(const std::string& study) : StudyRuns(field + study + "/study.yaml") {}
};

/// Bytes of KV of one token on all GPUs of the smallest scenario of a model.
double kv_bytes_per_token(const std::string& model, const Overrides& overrides = {}) {
  Overrides all{"model=" + model, "cluster.gpu=h200_sxm", "engine.num_gpu_blocks_override=1000"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  const Scenario scenario = load_scenario(source(field + "kv-size.yaml"), {all});
  return scenario.cost->stage(0).kv_per_token().value() *
         static_cast<double>(scenario.cost->setup().parallelism.tensor);
}

}  // namespace

TEST_CASE("every claim of a field study that differs says why", "[field]") {
  int claims = 0;
  for (const std::string& file : files_below(source(field))) {
    if (!file.ends_with("study.yaml")) continue;
    INFO(file);
    report::Study study = report::load_study(source(field + file));
    const report::Comparison comparison = report::compare(study, {.threads = 2, .out = {}});
    for (std::size_t i = 0; i < comparison.claims.size(); ++i, ++claims) {
      const report::Claim& claim = comparison.plan.claims[i];
      INFO(claim.what << ", " << claim.variant);
      const bool explained = comparison.claims[i].confirmed || !claim.why.empty();
      CHECK(explained);
    }
  }
  CHECK(claims > 50);
}

TEST_CASE("a small reserve of KV blocks removes most preemptions and a large one wastes slots",
          "[field]") {
  const Variants ran("vllm-preempt-44594");
  const double none = ran("no reserve", "random.preemptions");
  CHECK(none == Approx(1065).epsilon(0.2));
  CHECK(ran("5 %", "random.preemptions") <= 250);
  // Throughput is largest between 2 and 5 %. Measured 5 % more than without; here half of that.
  const double best =
      std::max(ran("2 %", "random.output_throughput"), ran("5 %", "random.output_throughput"));
  CHECK(best > ran("no reserve", "random.output_throughput"));
  CHECK(best > ran("10 %", "random.output_throughput"));
  CHECK(ran("10 %", "random.output_throughput") > ran("15 %", "random.output_throughput"));
  CHECK(2.0 * ran("2 %", "random.p99_itl_ms") <= ran("no reserve", "random.p99_itl_ms"));
}

TEST_CASE("past saturation more clients lengthen the queue and nothing else", "[field]") {
  const Variants ran("nim-70b-plateau");
  const double plateau = ran("150 clients", "benchmark.output_throughput");
  for (const std::string name : {"200 clients", "250 clients"}) {
    CHECK(ran(name, "benchmark.output_throughput") == Approx(plateau).epsilon(0.01));
    CHECK(ran(name, "benchmark.mean_itl_ms") ==
          Approx(ran("150 clients", "benchmark.mean_itl_ms")).epsilon(0.01));
  }
  // Each of 50 further clients waits for the others: 50 / (requests per second), less the ramp.
  const double further =
      ran("250 clients", "benchmark.mean_ttft_ms") - ran("200 clients", "benchmark.mean_ttft_ms");
  const double per_second = ran("250 clients", "benchmark.request_throughput");
  CHECK(further == Approx(50.0 / per_second * 1e3).epsilon(0.05));
  // 86 requests reside at the plateau: 1.84 requests/s for 46.4 s.
  CHECK(ran("250 clients", "instances.mean_running") == Approx(86).epsilon(0.05));
}

TEST_CASE("an FP8 cache costs a single stream half as much per token of context", "[field]") {
  const Variants ran("fp8kv-8b");
  const auto slope = [&](const std::string& type) {
    return ran(type + ", 100,000", "all.mean_itl_ms") - ran(type + ", 1000", "all.mean_itl_ms");
  };
  CHECK(slope("fp8") / slope("bf16") == Approx(0.54).margin(0.06));
  // Below the break-even of 7010 tokens it costs more than it saves, and above it pays.
  CHECK(ran("fp8, 1000", "all.mean_itl_ms") > ran("bf16, 1000", "all.mean_itl_ms"));
  CHECK(ran("fp8, 32,000", "all.mean_itl_ms") < ran("bf16, 32,000", "all.mean_itl_ms"));
}

TEST_CASE("a smaller step budget leaves a 70B model on two A100 a larger pool", "[field]") {
  const Variants ran("vllm-17885-mnbt");
  CHECK(ran("TP2 after", "instances.kv_pool_tokens") >
        1.1 * ran("TP2 before", "instances.kv_pool_tokens"));
  CHECK(ran("TP2 after", "sharegpt.total_token_throughput") >
        ran("TP2 before", "sharegpt.total_token_throughput"));
  // With four GPUs the pool is not what is short.
  CHECK(ran("TP4 before", "instances.preemptions") == 0);
}

TEST_CASE("a fleet must hold in reserve what its load grows by while a replica starts", "[field]") {
  const Scenario scenario = load_scenario(source(field + "cold-start/ramp.yaml"));
  // vLLM issues 19824 and 20264: 60 + 10 + 15 + 70 + 60 + 45 s, and 40 s for node and image.
  CHECK(to_seconds(scenario.provisioning()).value() == Approx(300.0).epsilon(0.005));
  const Variants ran("cold-start");
  // At 30 requests/s so many run, and so many more in the five minutes of 3 requests/s each.
  const double running = 30.0 * ran("target 32", "chat.mean_e2el_ms") / 1e3;
  const double more = running * 5.0 * 3.0 / 30.0;
  const auto reserve = [&](double target) { return running * (64.0 / target - 1.0); };
  // What README.md states: the share of requests that meet a TTFT of 1 s. All are answered.
  const auto good = [&](const std::string& variant) {
    CHECK(ran(variant, "chat.failed") == 0);
    return ran(variant, "chat.goodput_fraction");
  };
  CHECK(reserve(40.0) > more);
  CHECK(good("target 40") == Approx(0.987).margin(0.0005));
  CHECK(reserve(48.0) < more);
  CHECK(good("target 48") == Approx(0.407).margin(0.0005));
  CHECK(good("target 56") == Approx(0.08).margin(0.005));
  // A third of the time to start asks for a third of the reserve.
  CHECK(reserve(48.0) > more / 3.0);
  CHECK(good("target 48, start 100 s") == Approx(0.99997).margin(0.000005));
  // What the reserve costs.
  CHECK(ran("target 32", "fleet.gpu_hours") > 1.15 * ran("target 40", "fleet.gpu_hours"));
}

TEST_CASE("hiding the host gains less with longer prompts", "[field]") {
  const Variants ran("cpu-overhead");
  const auto gain = [&](const std::string& variant) {
    return ran(variant + " async", "load.total_token_throughput") /
           ran(variant, "load.total_token_throughput");
  };
  for (const std::string gpu : {"H100", "A100"}) {
    CHECK(gain(gpu + " 32000") >= 1.0);
    CHECK(gain(gpu + " 4000") > gain(gpu + " 32000"));
  }
}

TEST_CASE("between nodes without InfiniBand a pipeline is many times faster than tensor ranks",
          "[field]") {
  const Variants ran("llama405-tp-pp");
  const std::string rate = "synthetic.request_throughput";
  const auto gain = [&](const std::string& network) {
    return ran("TP8 x PP2" + network, rate) / ran("TP16" + network, rate);
  };
  // Measured 6.6 times on a network that is not named: within those tried.
  CHECK(gain(", 12.1 GB/s") < 6.6);
  CHECK(gain(", 4.8 GB/s") > 6.6);
  CHECK(gain(", 2.9 GB/s") > gain(", 4.8 GB/s"));
  // "Similar" with InfiniBand; here half as much again.
  CHECK(gain("") < 1.6);
  // A request's 1152 tokens pass two all-reduces of 16,384 values in each of 126 layers.
  const double wire = 1152.0 * 2.0 * 126.0 * 16'384.0 * 2.0 / 4.8e9;
  CHECK(ran("TP16, 4.8 GB/s", rate) < 1.0 / wire);
  CHECK(ran("TP16, 4.8 GB/s", rate) == Approx(1.0 / wire).epsilon(0.15));
  // The pipeline hardly notices which network it is.
  CHECK(ran("TP8 x PP2, 4.8 GB/s", rate) == Approx(ran("TP8 x PP2", rate)).epsilon(0.1));
}

TEST_CASE("KV of a token has the bytes that engines report", "[field]") {
  const auto megabytes = [](const std::string& model, const Overrides& overrides = {}) {
    return kv_bytes_per_token(model, overrides) / 1e6;
  };
  CHECK(megabytes("qwen3-8b") == Approx(0.147).epsilon(0.01));
  CHECK(megabytes("qwen3-32b") == Approx(0.262).epsilon(0.01));
  CHECK(megabytes("llama-3.1-70b", {"cluster.tensor_parallel_size=2"}) ==
        Approx(0.328).epsilon(0.01));
  CHECK(megabytes("llama-3.1-8b") == Approx(0.131).epsilon(0.01));
  CHECK(megabytes("qwen2.5-7b") == Approx(0.057).epsilon(0.01));
  // An FP8 cache halves it.
  CHECK(megabytes("qwen3-8b", {"engine.kv_cache_dtype=fp8"}) == Approx(0.147 / 2).epsilon(0.01));
}

TEST_CASE("a 70B model at 8192 tokens holds eight times less KV with grouped heads", "[field]") {
  const double tokens = 8192.0;
  const double gib = 1024.0 * 1024.0 * 1024.0;
  const Overrides four{"cluster.tensor_parallel_size=4", "engine.max_model_len=4096"};
  const double grouped = tokens * kv_bytes_per_token("llama-2-70b", four);
  CHECK(grouped / gib == Approx(2.5));
  const std::string all_heads = source("scenarios/p99_incident/llama-2-70b-mha.json");
  CHECK(tokens * kv_bytes_per_token(all_heads, four) / grouped == Approx(8.0));
}

TEST_CASE("a pool of 16 GiB holds the tokens that the engine logged", "[field]") {
  // vLLM pull request 44594: Qwen2.5-7B, 299,584 tokens.
  const Scenario scenario = load_scenario(source(field + "kv-size.yaml"));
  const double blocks = std::floor(16.0 * 1024 * 1024 * 1024 / scenario.memory.block.value());
  CHECK(blocks * 16 == 299'584);
}
