// What a run depends on: the keys of a scenario, resolved and described.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "sim/engine/run.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/traffic/support.hpp"

using namespace tokenline;

namespace {

/// A folder with the data files of `full`.
class DataFolder : public Scratch {
 public:
  DataFolder() {
    (void)write("t.csv", "arrival_s,prompt_tokens,output_tokens,class\n0.5,100,10,a\n1,200,30,a\n");
    (void)write("observed.csv", "arrival_s,class,ttft_ms\n1,open,30\n");
    (void)write("lengths.csv", "5\n9\n40\n");
    (void)write("turns.csv", "1\n3\n");
    (void)write("talks.json", R"([{"conversations": [{"value": "Why?"}, {"value": "Because."}]}])");
  }
};

constexpr std::string_view small = R"(scenario: small
model: llama-3.1-8b
cluster: {gpu: h100_sxm}
traffic:
  chat:
    arrival: {process: poisson, rate: 20/s}
    num_prompts: 60
    prompt_tokens: 200
    output_tokens: 20
)";

/// A scenario that gives every key there is, but for those of other choices.
constexpr std::string_view full = R"(scenario: full
description: every key
seed: 7
model: llama-3.1-8b
cluster: {gpu: h100_sxm, replicas: 2, router: round_robin, tensor_parallel_size: 2,
          attention_data_parallel_size: 1, expert_parallel_size: 1,
          context_parallel_size: 2,
          network: {node: hgx_h100, nodes: 3, gpus_per_node: 4, fabric: roce_400g},
          restart_delay: 5 s, on_oom: lose, max_retries: 0,
          autoscale: {min: 1, max: 3, metric: kv_usage, target: 0.5, interval: 1 s, tolerance: 0.2,
                      scale_down_stabilization: 9 s,
                      cold_start: {node: 1 s, image: 1 s, weights_bandwidth: 10 GB/s, compile: 1 s,
                                   graph_capture: 1 s, warm_up: 1 s}}}
faults:
  - {kind: instance_crash, replica: 1, at: 3 s, restart: 1 s}
  - {kind: straggler, replica: 0, from: 2 s, to: 4 s, slowdown: 1.5}
  - {kind: link_brownout, link: nic, node: 1, nic: 0, from: 1 s, to: 4 s, bandwidth_factor: 0.5}
measure: {from: 1 s, to: 8 s}
observed: {file: observed.csv, tolerance: 0.1}
assert: [all.completed > 0]
engine: {preset: orca, modelled: mine, scheduler: chunked, max_num_seqs: 32,
         queue_policy: shortest_job_first, length_prediction_sigma: 0.5, max_model_len: 2048,
         allow_long_max_model_len: true, max_num_batched_tokens: 512, gpu_memory_utilization: 0.8,
         kv_sizing: profiled, kv_layout: paged, block_size: 32, watermark: 0.01,
         static_reserve: 1 GiB, quantization: auto, kv_cache_dtype: auto,
         num_gpu_blocks_override: 300, enable_prefix_caching: false, non_torch_memory: 2 GiB, prefill_attention: fa2,
         decode_attention: plain, host_overhead_per_step: 1 ms, host_overhead_per_sequence: 1 us,
         host_overhead_per_request: 2 us, host_overlap: async, host_gap: 3 us,
         host_gap_per_sequence: 1 us, host_launch_per_layer: 1 us, schedule_ahead: true}
speculation: {method: draft_model, draft: llama-3.1-8b, num_speculative_tokens: 1,
              acceptance: 0.7, breaker: {below: 0.6, window: 100, cooldown: 2 s}}
traffic:
  open:
    arrival: {process: gamma, burstiness: 0.5, rate: 9/s}
    start: 1 s
    stop: 9 s
    num_prompts: 50
    prompt_tokens: {distribution: lognormal, mean: 300, sigma: 0.5, min: 2, max: 1500}
    output_tokens: {distribution: uniform, min: 2, max: 90}
    slo: {ttft: 200 ms, tpot: 50 ms, e2el: 5 s}
    timeout: 100 s
    ttft_timeout: 50 s
    abort_on_timeout: false
    retry: {attempts: 3, backoff: 1 s, max_backoff: 9 s, jitter: 0.5,
            budget: {max_tokens: 10, token_ratio: 0.1}}
    priority: -1
  ramp:
    arrival: {process: constant, rate: [{at: 0 s, rate: 0/s}, {at: 5 s, rate: 9/s, ramp: true}]}
    stop: 9 s
    prompt_tokens: {distribution: fixed, value: 700}
    output_tokens: {distribution: empirical, file: lengths.csv}
  day:
    arrival:
      process: poisson
      rate: {profile: diurnal, mean: 9/s, peak_to_trough: 3, period: 4 s, peak_at: 1 s}
    num_prompts: 9
    prompt_tokens: 50
    output_tokens: 60
  spike:
    arrival:
      process: poisson
      rate: {profile: spike, base: 1/s, peak: 9/s, at: 1 s, duration: 1 s, ramp: 100 ms}
    num_prompts: 9
    prompt_tokens: 50
    output_tokens: 60
  loop:
    arrival: {process: closed_loop, max_concurrency: 3}
    num_prompts: 9
    prompt_tokens: {distribution: empirical, file: lengths.csv}
    output_tokens: {distribution: lognormal, mean: 90, sigma: 0.2, max: 200}
  plain:
    arrival: {process: poisson, rate: 5/s}
    num_prompts: 9
    prompt_tokens: 50
    output_tokens: {distribution: fixed, value: 60}
    shared_prefix: {tokens: 20, groups: 3}
  measured:
    arrival: {process: poisson, rate: 5/s}
    num_prompts: 9
    lengths: {file: t.csv, format: csv, class: a, limit: 5, max_total_tokens: 900}
  conversations:
    arrival: {process: poisson, rate: 5/s}
    num_prompts: 9
    lengths: {file: talks.json, format: sharegpt, characters_per_token: 4, unanswered: refuse}
  talks:
    arrival: {process: poisson, rate: 1/s}
    session:
      turns: {distribution: uniform, min: 1, max: 4}
      think_time: {distribution: lognormal, mean: 1 s, sigma: 1}
      max_context: 1000
      num_sessions: 4
    prompt_tokens: 50
    output_tokens: 60
  files:
    arrival: {process: poisson, rate: 1/s}
    session:
      turns: {distribution: empirical, file: turns.csv}
      think_time: 1 s
      max_context: 1000
      num_sessions: 2
    prompt_tokens: 50
    output_tokens: 60
  drawn:
    arrival: {process: poisson, rate: 1/s}
    session:
      turns: {distribution: lognormal, mean: 3, sigma: 1, max: 5}
      think_time: {distribution: exponential, mean: 1 s}
      max_context: 1000
      num_sessions: 2
    prompt_tokens: 50
    output_tokens: 60
  same:
    arrival: {process: poisson, rate: 1/s}
    session: {turns: {distribution: fixed, value: 2}, think_time: 1 s, max_context: 1000, num_sessions: 2}
    prompt_tokens: 50
    output_tokens: 60
  recorded:
    trace: {file: t.csv, format: csv, speedup: 2.0, class: a, limit: 5, unanswered: refuse,
            max_total_tokens: 9000}
)";

/// The same with pools in place of replicas, without what is not modelled with them.
std::string full_with_pools() {
  std::string text(full);
  const auto replace = [&](std::string_view from, std::string_view to, std::string_view by) {
    const std::size_t begin = text.find(from);
    text.replace(begin, text.find(to, begin) - begin, by);
  };
  replace("context_parallel_size: 2", ",\n", "context_parallel_size: 1");
  replace(
      "replicas: 2", ", router",
      R"(pools: {prompts: {role: prefill, replicas: 2, gpu: a100_sxm_80gb, engine: {block_size: 16}},
                  answers: {role: decode}},
          disaggregate: {min_prompt_tokens: 40, kv_transfer: layerwise, first_token: decode})");
  replace(",\n          autoscale", "}\nfaults", "");
  replace("faults:", "measure:", "");
  replace("speculation:", "traffic:", "");
  replace("    timeout: 100 s", "  ramp:", "");
  return text;
}

/// The same with tiers behind the pool, for clients that wait.
std::string full_with_tiers() {
  std::string text(full);
  const std::string_view off = "enable_prefix_caching: false";
  text.replace(text.find(off), off.size(),
               "enable_prefix_caching: true, kv_offload: {host: 10 GB, nvme: 1 TB}");
  const std::size_t begin = text.find("    timeout: 100 s");
  return text.erase(begin, text.find("  ramp:", begin) - begin);
}

/// The same with preemption by swap, and an engine that has it.
std::string full_with_swap() {
  std::string text(full);
  const std::string_view chunks = "scheduler: chunked";
  text.replace(text.find(chunks), chunks.size(),
               "scheduler: orca, preemption_mode: swap, swap_space: 8 GiB");
  const std::string_view tokens = "max_num_batched_tokens: 512";
  return text.replace(text.find(tokens), tokens.size(), "max_num_batched_tokens: 2048");
}

/// The same with the histogram that may stand in place of speculation.acceptance.
std::string full_with_histogram() {
  std::string text(full);
  const std::string_view chance = "acceptance: 0.7";
  return text.replace(text.find(chance), chance.size(), "accepted_lengths: [3, 7]");
}

/// The paths of a resolved tree as KeyInfo spells them.
void collect(const config::Node& node, const std::string& path, std::set<std::string>& paths) {
  const bool names = path == "traffic" || path == "cluster.pools";
  if (path == "cluster.pools.<name>.engine") return;  // described as those of `engine`
  for (const auto& [key, where, value] : node.entries) {
    const std::string inner = path.empty() ? key : names ? path + ".<name>" : path + '.' + key;
    if (!names) paths.insert(inner);
    collect(value, inner, paths);
  }
  for (const config::Node& item : node.items) collect(item, path + "[]", paths);
}

}  // namespace

TEST_CASE("the resolved scenario resolves to itself and gives the same run", "[scenario]") {
  const DataFolder folder;
  for (const std::string& text : {std::string(small), std::string(full), full_with_histogram(),
                                  full_with_pools(), full_with_tiers(), full_with_swap()}) {
    Scenario first = parse_scenario(folder / "s.yaml", text);
    const std::string resolved = config::emit_yaml(first.resolved);
    Scenario second = parse_scenario(folder / "s.yaml", resolved);
    CHECK(config::emit_yaml(second.resolved) == resolved);
    const RunResult a = run(first);
    const RunResult b = run(second);
    CHECK(a.log.records.size() > 50);
    CHECK(a.log.records == b.log.records);
    CHECK(a.fingerprint == b.fingerprint);
  }
}

TEST_CASE("every key that a scenario holds is described", "[scenario]") {
  const DataFolder folder;
  std::set<std::string> used;
  for (const std::string& text : {std::string(full), full_with_histogram(), full_with_pools(),
                                  full_with_tiers(), full_with_swap()})
    collect(parse_scenario(folder / "s.yaml", text).resolved, "", used);
  // One choice of admission excludes the keys of the others.
  const std::vector<std::vector<std::string>> doors{
      {"cluster.admission=bounded_queue", "cluster.max_waiting=9",
       "cluster.max_waiting_per_replica=9"},
      {"cluster.admission=token_bucket", "cluster.bucket_counts=requests",
       "cluster.bucket_rate=9/s", "cluster.bucket_burst=9"},
      {"cluster.admission=shed_by_class", "cluster.shed_above=9"}};
  for (const auto& door : doors)
    collect(parse_scenario(folder / "s.yaml", std::string(full), {door}).resolved, "", used);
  std::set<std::string> described;
  for (const config::KeyInfo& key : scenario_keys()) {
    described.insert(key.path);
    CHECK_FALSE(key.doc.empty());
  }
  CHECK(used == described);
}

TEST_CASE("keys that presets give are described with their values", "[scenario]") {
  const auto keys = scenario_keys();
  const auto at = [&](const char* path) {
    return *std::ranges::find(keys, path, &config::KeyInfo::path);
  };
  CHECK_FALSE(at("engine.max_num_seqs").required);
  CHECK_THAT(at("engine.max_num_seqs").standard,
             Catch::StartsWith("from the preset (distserve: 256, orca: 256, ") &&
                 Catch::Contains("vllm-v1: 1024"));
  CHECK_THAT(at("engine.kv_layout").standard, Catch::StartsWith("paged (orca: contiguous, "));
  CHECK(at("engine.max_model_len").standard == "the positions of the model");
  CHECK(at("engine.preset").standard == "vllm-v1");
  CHECK(at("traffic.<name>.arrival.burstiness").when == "with process: gamma");
  CHECK(at("traffic.<name>.trace").when == "without arrival");
  CHECK(at("traffic.<name>.stop").when == "without trace");
  for (const char* key : {"gpu", "tensor_parallel_size", "pipeline_parallel_size"}) {
    CHECK_FALSE(at((std::string("cluster.pools.<name>.") + key).c_str()).required);
    CHECK(at((std::string("cluster.pools.<name>.") + key).c_str()).standard == "that of `cluster`");
  }
  CHECK(at("cluster.tensor_parallel_size").standard == "1");
  CHECK_FALSE(at("measure").required);
  CHECK(at("measure").standard.empty());
}
