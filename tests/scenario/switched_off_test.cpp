#include "tests/scenario/support.hpp"

using namespace tokenline;
using namespace tokenline::scenario_test;

namespace {

/// A busy service of two classes, with prompts in chunks; its first request arrives at 0 s.
constexpr std::string_view base = R"(scenario: base
model: llama-3.1-8b
cluster: {gpu: h100_sxm}
engine: {preset: vllm-v1, max_model_len: 2048, max_num_batched_tokens: 2048}
traffic:
  chat:
    arrival: {process: closed_loop, max_concurrency: 8}
    num_prompts: 100
    prompt_tokens: {distribution: uniform, min: 1, max: 800}
    output_tokens: {distribution: uniform, min: 1, max: 100}
  batch:
    arrival: {process: poisson, rate: 20/s}
    stop: 10 s
    prompt_tokens: 1000
    output_tokens: 200
)";

/// summary.json without the digest of the configuration, which may name the feature.
std::string summary_of(Ran ran) {
  ran.summary.config_sha256.clear();
  return report::summary_json(ran.summary);
}

void require_no_change(const std::string& text, const Overrides& switched_off) {
  const Ran absent = run_text(text);
  const Ran off = run_text(text, switched_off);
  CHECK(difference(off.requests_csv, absent.requests_csv) == "");
  CHECK(difference(summary_of(off), summary_of(absent)) == "");
}

}  // namespace

TEST_CASE("a feature switched off gives the bytes of the feature absent", "[off]") {
  const std::string override_off = GENERATE(
      as<std::string>{}, "engine.preset=vllm-v1", "engine.watermark=0", "engine.kv_sizing=profiled",
      "engine.kv_layout=paged", "engine.enable_prefix_caching=true",
      "engine.allow_long_max_model_len=true", "engine.prefill_attention=fa3", "cluster.replicas=1",
      "cluster.router=round_robin", "cluster.tensor_parallel_size=1",
      "cluster.context_parallel_size=1", "cluster.network={node: hgx_h100}", "cluster.on_oom=lose",
      "cluster.max_retries=0", "cluster.restart_delay=1 s", "traffic.chat.start=0 s",
      "traffic.chat.stop=1000 s", "traffic.batch.slo={}", "traffic.batch.num_prompts=1000",
      "traffic.chat.priority=0", "cluster.admission=unlimited", "engine.queue_policy=fcfs",
      "engine.queue_policy=priority", "seed=42");
  INFO(override_off);
  require_no_change(std::string(base), {override_off});
}

TEST_CASE("a door that never closes gives the bytes of no door", "[off]") {
  require_no_change(std::string(base),
                    {"cluster.admission=bounded_queue", "cluster.max_waiting=100000"});
  require_no_change(std::string(base),
                    {"cluster.admission=token_bucket", "cluster.bucket_counts=requests",
                     "cluster.bucket_rate=1/s", "cluster.bucket_burst=100000"});
}

TEST_CASE("a number of KV blocks given as memory gives it changes nothing", "[off]") {
  const Scenario scenario = parse_scenario("text.yaml", std::string(base));
  REQUIRE(scenario.memory.blocks > 0);
  require_no_change(std::string(base),
                    {fmt::format("engine.num_gpu_blocks_override={}", scenario.memory.blocks)});
}

TEST_CASE("where nothing is preempted a pool twice as large changes no request", "[off]") {
  const Ran small = run_text(std::string(base), {"engine.num_gpu_blocks_override=12000"});
  const Ran large = run_text(std::string(base), {"engine.num_gpu_blocks_override=24000"});
  REQUIRE(small["instances.kv_peak_fraction"] < 1.0);
  CHECK(difference(small.requests_csv, large.requests_csv) == "");
}

TEST_CASE("a window that covers every arrival measures what no window measures", "[off]") {
  const std::string window = GENERATE(as<std::string>{}, "measure={}", "measure={from: 0 s}",
                                      "measure={from: 0 s, to: 100 s}");
  INFO(window);
  const Ran without = run_text(std::string(base));
  const Ran within = run_text(std::string(base), {window});
  CHECK(difference(within.requests_csv, without.requests_csv) == "");
  // Rates of a class count from the start of the window, and replicas from a step boundary.
  for (const char* figure : {"offered", "completed", "total_output_tokens", "mean_ttft_ms",
                             "p99_ttft_ms", "mean_tpot_ms", "p99_itl_ms", "p99_e2el_ms"}) {
    CAPTURE(figure);
    for (const std::string name : {"all.", "chat.", "batch."})
      CHECK(within[name + figure] == without[name + figure]);
  }
}

TEST_CASE("a rate that never changes is a rate, and a profile of one piece is too", "[off]") {
  require_no_change(std::string(base), {"traffic.batch.arrival.rate=[{at: 0 s, rate: 20/s}]"});
}

TEST_CASE("lengths drawn from one value are that value", "[off]") {
  require_no_change(std::string(base),
                    {"traffic.batch.prompt_tokens={distribution: uniform, min: 1000, max: 1000}",
                     "traffic.batch.output_tokens={distribution: fixed, value: 200}"});
}

TEST_CASE("a trace at its own speed and in full is the trace", "[off]") {
  const std::string text = fmt::format(
      "scenario: trace\nmodel: llama-3.1-8b\ncluster: {{gpu: h100_sxm}}\n"
      "engine: {{max_model_len: 16384}}\ntraffic:\n  conversation:\n"
      "    trace: {{file: '{}', format: azure}}\n",
      source("scenarios/traces/azure_conversation_2023.csv"));
  require_no_change(text, {"traffic.conversation.trace.speedup=1.0"});
  require_no_change(text, {"traffic.conversation.trace.limit=1000000"});
}
