#include "tests/support/random_scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "sim/base/integer.hpp"
#include "sim/engine/scenario.hpp"
#include "tests/support/dice.hpp"

namespace tokenline::test {
namespace {

/// The `engine:` section, and what other sections must fit to.
struct EngineDraw {
  std::string yaml;
  std::int64_t max_model_len = 0;
  std::int64_t max_num_batched_tokens = 0;
  std::int64_t request_blocks = 0;  ///< Of a request of max_model_len tokens.
  std::int64_t block_tokens = 0;
  bool crowded = false;
  std::int64_t blocks = 0;

  [[nodiscard]] bool says(std::string_view key) const {
    return yaml.find(key) != std::string::npos;
  }
  /// Whether KV leaves the GPUs for host memory or drives.
  [[nodiscard]] bool moves_kv() const { return says("preemption_mode") || says("kv_offload"); }
};

/// The smallest pool that admits `needed` blocks above its watermark.
std::int64_t smallest_pool(std::int64_t needed, double watermark) {
  std::int64_t blocks = needed;
  while (blocks - static_cast<std::int64_t>(std::ceil(watermark * static_cast<double>(blocks))) <
         needed)
    ++blocks;
  return blocks;
}

/// KV of one token of a model of random_scenario().
std::int64_t bytes_per_token(std::string_view model) {
  return model == "llama-2-7b" ? 524'288 : 131'072;
}

/// `drafts`: tokens that each sequence drafts in a pass.
EngineDraw draw_engine(Dice& dice, Dice& host, std::string_view model, std::int64_t drafts,
                       bool piped, bool crowded) {
  EngineDraw engine;
  std::string_view scheduler =
      dice.word({"static", "static", "prefill_first", "orca", "chunked", "chunked",
                 "guaranteed_no_evict", "prefill_first_chunked"});
  engine.crowded = crowded;
  if (crowded)
    scheduler = host.word({"prefill_first", "prefill_first", "orca", "chunked",
                           "prefill_first_chunked", "guaranteed_no_evict"});
  const std::int64_t seqs = dice.one_in(4) ? dice.between(1, 3) : dice.between(4, 24);
  // Why longer at times: the scores of naive attention grow with the square.
  engine.max_model_len = dice.one_in(5) ? dice.between(256, 1024) : dice.between(16, 256);
  const std::int64_t decodes = seqs * (1 + drafts);
  const std::int64_t whole = std::max(decodes, engine.max_model_len);
  const bool in_pieces = scheduler == "chunked" || scheduler == "prefill_first_chunked";
  engine.max_num_batched_tokens = in_pieces
                                      ? std::max(decodes, dice.between(8, engine.max_model_len))
                                      : whole + (dice.one_in(2) ? 0 : dice.between(0, 3 * whole));
  const bool contiguous = dice.one_in(scheduler == "static" || scheduler == "orca" ? 2 : 5);
  const std::int64_t block_size = dice.among<std::int64_t>({1, 2, 4, 8, 16, 32});
  const double watermark = dice.among({0.0, 0.0, 0.01, 0.1, 0.3});
  engine.block_tokens = contiguous ? engine.max_model_len : block_size;
  engine.request_blocks = ceil_div(engine.max_model_len + drafts, engine.block_tokens);
  const std::int64_t smallest = smallest_pool(engine.request_blocks, watermark);
  // Why often so small: preemptions and crashes are what engines get wrong.
  const std::int64_t spare = dice.one_in(3) ? smallest : smallest / 2;
  engine.blocks = smallest + dice.between(0, contiguous ? 6 : spare);
  if (engine.crowded) engine.blocks = smallest + host.between(0, smallest / 2);
  // One key per statement: draws in one argument list have no order.
  const auto key = [&engine](std::string_view name, const auto& value) {
    engine.yaml += fmt::format("  {}: {}\n", name, value);
  };
  key("preset", dice.word({"vllm-v1", "vllm-v0"}));
  key("scheduler", scheduler);
  key("max_num_seqs", seqs);
  key("max_model_len", engine.max_model_len);
  key("max_num_batched_tokens", engine.max_num_batched_tokens);
  key("kv_layout", contiguous ? "contiguous" : "paged");
  key("block_size", block_size);
  key("watermark", watermark);
  // Of a contiguous layout only drafts beyond the longest context need a second block.
  const bool swaps = crowded && !piped && (scheduler == "prefill_first" || scheduler == "orca") &&
                     !host.one_in(4) && (!contiguous || drafts > 0);
  const bool caches = !dice.one_in(3) || engine.crowded;
  key("enable_prefix_caching", caches && !swaps ? "true" : "false");
  if (swaps) {
    // At least two blocks: a draft model's KV doubles them.
    const std::int64_t tokens = (2 + host.between(0, engine.request_blocks)) * engine.block_tokens;
    key("preemption_mode", "swap");
    key("swap_space", fmt::format("{} B", tokens * bytes_per_token(model)));
  }
  key("prefill_attention", dice.word({"auto", "naive", "fa2"}));
  key("decode_attention", dice.word({"plain", "flash_decoding"}));
  key("mixed_attention", dice.word({"fused", "separate"}));
  key("host_overhead_per_step", dice.word({"0 s", "0.5 ms", "5 ms"}));
  key("host_overhead_per_sequence", dice.word({"0 s", "45 us"}));
  key("host_overhead_per_request", dice.word({"0 s", "0 s", "3 ms"}));
  key("host_overlap", dice.word({"none", "none", "async"}));
  key("host_gap", dice.word({"0 s", "0.2 ms"}));
  key("host_gap_per_sequence", dice.word({"0 s", "0 s", "20 us"}));
  key("host_launch_per_layer", dice.word({"0 s", "0 s", "0.5 ms"}));
  key("cuda_graph_max_tokens", dice.word({"0", "0", "20"}));
  key("schedule_ahead", dice.word({"false", "true"}));
  key("pipeline_slots", dice.word({"shared", "split", "each"}));
  const std::string_view queue = dice.word({"fcfs", "fcfs", "priority", "shortest_job_first",
                                            "earliest_deadline", "fair_share", "fair_share"});
  key("queue_policy", queue);
  if (queue == "shortest_job_first") key("length_prediction_sigma", dice.among({0.0, 0.3, 2.0}));
  return engine;
}

/// A class that keeps the pool full, and asks again for what it dropped.
std::string draw_crowd(Dice& host, std::int64_t longest, bool may_give_up) {
  const std::int64_t clients = host.between(4, 12);
  const std::int64_t prefix = host.between(1, longest / 3);
  const std::int64_t groups = host.between(1, 4);
  return fmt::format(
      "  crowd:\n    arrival: {{process: closed_loop, max_concurrency: {}}}\n    num_prompts: 24\n"
      "    shared_prefix: {{tokens: {}, groups: {}}}\n"
      "    prompt_tokens: {{distribution: uniform, min: 1, max: {}}}\n"
      "    output_tokens: {{distribution: uniform, min: 1, max: {}}}\n{}",
      clients, prefix, groups, longest / 3, longest / 3,
      may_give_up && host.one_in(2) ? "    timeout: 300 ms\n" : "");
}

/// Tiers behind the pool, where requests begin alike and that is looked for.
std::string draw_tiers(Dice& host, const EngineDraw& engine, std::string_view model,
                       const std::string& traffic) {
  const bool alike = traffic.find("shared_prefix") != std::string::npos ||
                     traffic.find("session") != std::string::npos;
  if (!alike || !engine.crowded || engine.says("preemption_mode")) return {};
  const auto size = [&] {
    return bytes_per_token(model) * engine.block_tokens *
           host.between(2, 4 * engine.request_blocks);
  };
  const std::string_view tiers = host.word({"host", "nvme", "both"});
  std::string yaml = "  kv_offload: {";
  if (tiers != "nvme") yaml += fmt::format("host: {} B", size());
  if (tiers == "both") yaml += ", ";
  if (tiers != "host") yaml += fmt::format("nvme: {} B", size());
  return yaml + "}\n";
}

/// `drafts` draft tokens, if any, of a draft model that speaks as `model` does.
std::string draw_speculation(Dice& dice, std::int64_t drafts, std::string_view model) {
  if (drafts == 0) return {};
  std::string yaml = fmt::format("speculation:\n  num_speculative_tokens: {}\n", drafts);
  const std::string_view method = dice.word({"ngram", "draft_model", "mtp"});
  yaml += fmt::format("  method: {}\n", method);
  if (method == "draft_model") yaml += fmt::format("  draft: {}\n", model);
  yaml += fmt::format("  acceptance: {}\n", dice.word({"0", "0.3", "0.8", "1"}));
  if (!dice.one_in(2)) return yaml;
  const std::int64_t window = dice.between(1, 50);
  return yaml + fmt::format("  breaker: {{below: 0.65, window: {}, cooldown: {}}}\n", window,
                            dice.word({"10 ms", "1 s"}));
}

std::string draw_lengths(Dice& dice, std::int64_t longest) {
  switch (dice.between(0, 3)) {
    case 0:
      return "1";
    case 1:
      return fmt::format("{}", dice.between(1, longest));
    case 2:
      return fmt::format("{{distribution: uniform, min: 1, max: {}}}", longest);
    default: {
      const std::int64_t min = dice.between(1, longest);
      return fmt::format("{{distribution: uniform, min: {}, max: {}}}", min,
                         dice.between(min, longest));
    }
  }
}

/// Clients that may not wait for ever, or do.
std::string draw_client(Dice& dice, bool patient) {
  std::string yaml;
  const std::string_view drawn = dice.word({"", "timeout", "ttft_timeout", "both"});
  const std::string_view patience = patient ? "" : drawn;
  if (patience == "ttft_timeout" || patience == "both")
    yaml += fmt::format("    ttft_timeout: {}\n", dice.word({"5 ms", "30 ms", "100 ms"}));
  if (patience == "timeout" || patience == "both")
    yaml += fmt::format("    timeout: {}\n", dice.word({"101 ms", "300 ms", "1 s"}));
  if (!patience.empty())
    yaml += fmt::format("    abort_on_timeout: {}\n", dice.one_in(3) ? "false" : "true");
  if (dice.one_in(4)) return yaml;
  const std::int64_t attempts = dice.between(2, 4);
  const std::string_view backoff = dice.word({"0 s", "0 s", "1 ms", "100 ms"});
  const std::string_view jitter = dice.word({"0", "0", "0.25", "1"});
  yaml += fmt::format("    retry: {{attempts: {}, backoff: {}, max_backoff: 150 ms, jitter: {}",
                      attempts, backoff, jitter);
  if (dice.one_in(3)) yaml += ", budget: {max_tokens: 6, token_ratio: 0.1}";
  return yaml + "}\n";
}

/// `tick` is shared by the classes, so that evenly spaced arrivals coincide.
std::string draw_class(Dice& dice, std::int64_t index, std::int64_t tick, std::int64_t longest,
                       bool alike, bool patient) {
  std::string yaml;
  const bool talks = alike && dice.one_in(4);
  switch (dice.between(talks ? 1 : 0, 3)) {
    case 0:
      yaml = fmt::format("    arrival: {{process: closed_loop, max_concurrency: {}}}\n",
                         dice.between(1, 12));
      break;
    case 1:
      yaml = fmt::format("    arrival: {{process: constant, rate: {}/s}}\n", tick);
      break;
    case 2:
      yaml = fmt::format("    arrival: {{process: poisson, rate: {}/s}}\n", dice.between(5, 1000));
      break;
    default:
      yaml = fmt::format("    arrival: {{process: gamma, burstiness: 0.05, rate: {}/s}}\n",
                         dice.between(5, 1000));
  }
  yaml += draw_client(dice, patient);
  if (dice.one_in(3)) yaml += fmt::format("    start: {} ms\n", dice.between(1, 20) * 10);
  // The first class is the most urgent one.
  yaml += fmt::format("    priority: {}\n", index == 0 ? -1 : dice.between(0, 1));
  // Why always: earliest_deadline wants one.
  yaml += fmt::format("    slo: {{ttft: {} ms}}\n", dice.among<std::int64_t>({1, 20, 500}));
  const std::int64_t max_context = longest;
  if (alike && !dice.one_in(3)) {
    const std::int64_t prefix = dice.between(1, longest / 2);
    longest -= prefix;
    yaml +=
        fmt::format("    shared_prefix: {{tokens: {}, groups: {}}}\n", prefix, dice.between(1, 3));
  }
  if (talks) {
    yaml += fmt::format(
        "    session: {{turns: {{distribution: uniform, min: 1, max: 4}}, think_time: {}, "
        "max_context: {}, num_sessions: {}}}\n",
        dice.word({"0 s", "10 ms", "1 s"}), max_context, dice.between(1, 16));
    if (dice.one_in(2)) longest = std::max<std::int64_t>(2, longest / 4);
  } else {
    yaml += fmt::format("    num_prompts: {}\n", dice.between(1, 24));
  }
  const std::int64_t prompt = dice.between(1, longest - 1);
  yaml += fmt::format("    prompt_tokens: {}\n", draw_lengths(dice, prompt));
  yaml += fmt::format("    output_tokens: {}\n",
                      draw_lengths(dice, std::min<std::int64_t>(longest - prompt, 100)));
  return yaml;
}

/// `all_alike`: all prompts may begin alike, and nobody gives up.
std::string draw_traffic(Dice& dice, std::int64_t classes, std::int64_t longest, bool all_alike) {
  const std::int64_t tick = dice.among<std::int64_t>({10, 100, 1000, 1'000'000'000});
  // Where tiers keep prompts all may begin alike, and nobody gives up.
  const bool alike = !dice.one_in(3) || all_alike;
  // Why often: batches of which some have finished are rare where clients give up.
  const bool patient = alike && (dice.one_in(2) || all_alike);
  std::string yaml = "traffic:\n";
  for (std::int64_t i = 0; i < classes; ++i)
    yaml += fmt::format("  class_{}:\n{}", i, draw_class(dice, i, tick, longest, alike, patient));
  return yaml;
}

/// The door of the cluster.
std::string draw_admission(Dice& dice, std::int64_t classes, std::int64_t longest) {
  switch (dice.between(0, 7)) {
    case 0:
      return fmt::format("  admission: bounded_queue\n  max_waiting: {}\n", dice.between(1, 20));
    case 1:
      return fmt::format("  admission: bounded_queue\n  max_waiting_per_replica: {}\n",
                         dice.between(1, 8));
    case 2: {
      const bool tokens = dice.one_in(2);
      const std::int64_t rate = tokens ? dice.between(100, 20'000) : dice.between(1, 200);
      const std::int64_t burst = tokens ? longest + dice.between(0, 500) : dice.between(1, 10);
      return fmt::format(
          "  admission: token_bucket\n  bucket_counts: {}\n  bucket_rate: {}/s\n"
          "  bucket_burst: {}\n",
          tokens ? "prompt_tokens" : "requests", rate, burst);
    }
    case 3:
      if (classes == 1) return "";
      return fmt::format("  admission: shed_by_class\n  shed_above: {}\n", dice.between(1, 8));
    default:
      return "";
  }
}

/// A node for every GPU, and what goes wrong between them.
struct NetworkDraw {
  std::string network;
  std::string faults;
};

/// Of its own dice, so that the other draws do not depend on it.
NetworkDraw draw_network(std::uint64_t seed, std::int64_t stages) {
  Dice dice(seed, "network");
  if (stages == 1 || dice.one_in(2)) return {};
  NetworkDraw draw{.network = "  network: {node: hgx_h100, gpus_per_node: 1, fabric: roce_400g}\n",
                   .faults = {}};
  const std::int64_t count = dice.between(1, 3);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string_view links =
        dice.word({"", "", ", node: 0", ", node: 1", ", node: 1, nic: 0"});
    const std::int64_t from = dice.between(0, 300);
    const std::int64_t to = from + dice.between(1, 500);
    draw.faults += fmt::format(
        "  - {{kind: link_brownout, link: nic{}, from: {} ms, to: {} ms, bandwidth_factor: {}}}\n",
        links, from, to, dice.among({0.5, 0.05}));
  }
  return draw;
}

/// What goes wrong with some of `replicas` replicas: in some scenarios, or `often` and late enough
/// to lose what is on its way.
std::string draw_faults(Dice& dice, std::int64_t replicas, bool often) {
  if (!often && !dice.one_in(3)) return {};
  std::string yaml;
  const std::int64_t count = often ? dice.between(2, 6) : dice.between(1, 3);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t replica = dice.between(0, replicas - 1);
    if (dice.one_in(2)) {
      const std::int64_t at = dice.between(0, often ? 300 : 40) * 10;
      yaml += fmt::format("  - {{kind: instance_crash, replica: {}, at: {} ms{}}}\n", replica, at,
                          dice.word({"", ", restart: 1 ms", ", restart: 200 ms"}));
    } else {
      const std::int64_t from = dice.between(0, 300);
      const std::int64_t to = from + dice.between(1, 500);
      yaml += fmt::format(
          "  - {{kind: straggler, replica: {}, from: {} ms, to: {} ms, slowdown: {}}}\n", replica,
          from, to, dice.among({1.5, 3.0}));
    }
  }
  return yaml;
}

std::string draw_head(Dice& dice, std::uint64_t seed, std::string_view model, std::int64_t stages,
                      const std::string& admission, bool crowded) {
  const NetworkDraw network = draw_network(seed, stages);
  const std::int64_t replicas = dice.between(1, 3);
  std::string yaml = fmt::format("scenario: random {}\nseed: {}\n", seed, seed);
  yaml += fmt::format("model: {}\n", model);
  const auto key = [&yaml](std::string_view name, const auto& value) {
    yaml += fmt::format("  {}: {}\n", name, value);
  };
  yaml += "cluster:\n";
  key("gpu", dice.word({"a100_sxm_80gb", "h100_sxm"}));
  key("replicas", replicas);
  key("router", dice.word({"least_outstanding", "round_robin", "power_of_two", "least_kv",
                           "slo_aware", "prefix_affinity", "session_affinity"}));
  key("pipeline_parallel_size", stages);
  key("restart_delay", dice.word({"1 ms", "10 ms", "100 ms", "1 s"}));
  key("on_oom", dice.one_in(5) ? "lose" : "retry");
  key("max_retries", dice.between(0, 2));
  yaml += admission;
  yaml += network.network;
  if (const std::string faults =
          draw_faults(dice, replicas, crowded && dice.one_in(2)) + network.faults;
      !faults.empty())
    yaml += "faults:\n" + faults;
  if (!dice.one_in(4)) return yaml;
  const std::int64_t from = dice.between(0, 100);
  return yaml + fmt::format("measure: {{from: {} ms, to: {} ms}}\n", from, dice.between(101, 2000));
}

/// Keys that make the pool grow on demand in a GPU whose memory ends near the pool's end, so that a
/// full pool leaves little or nothing for activations, yet a single request fits.
std::string draw_tight_memory(Dice& dice, const EngineDraw& engine, const Scenario& probe) {
  const std::int64_t piece = std::min(engine.max_model_len, engine.max_num_batched_tokens);
  const double slack = dice.among({0.0, 0.0, 0.1, 0.25, 0.5});
  Bytes rest = probe.memory.capacity;
  for (std::size_t i = 0; i < probe.stage_memory.size(); ++i) {
    const MemoryPlan& memory = probe.stage_memory[i];
    const Bytes alone = static_cast<double>(engine.request_blocks) * memory.block +
                        probe.cost->stage(i).activations(piece, 1, piece * engine.max_model_len);
    const Bytes pool = std::max(alone, static_cast<double>(engine.blocks) * memory.block) +
                       slack * memory.activation_peak;
    rest = std::min(rest, memory.capacity - memory.weights - pool);
  }
  return fmt::format(
      "  kv_sizing: on_demand\n"
      "  gpu_memory_utilization: 1.0\n"
      "  non_torch_memory: {} B\n",
      static_cast<std::int64_t>(std::floor(rest.value())) - 1);
}

/// `crowded`: the pool is small, and KV is kept behind it.
std::string draw_scenario(std::uint64_t seed, bool crowded) {
  constexpr std::string_view cluster = "cluster:\n";
  Dice dice(seed, "random_scenario");
  Dice host(seed, "random_scenario/host");
  auto stages = dice.among<std::int64_t>({1, 1, 1, 2, 3, 4});
  if (crowded && !host.one_in(3)) stages = 1;
  const std::int64_t drafts = stages == 1 && dice.one_in(2) ? dice.between(1, 4) : 0;
  const std::string_view model = dice.word({"llama-2-7b", "llama-3.1-8b"});
  EngineDraw engine = draw_engine(dice, host, model, drafts, stages > 1, crowded);
  const std::int64_t classes = dice.between(1, 3);
  const std::string admission = draw_admission(dice, classes, engine.max_model_len);
  std::string head = draw_head(dice, seed, model, stages, admission, crowded) +
                     draw_speculation(dice, drafts, model);
  const bool swaps = engine.says("preemption_mode");
  std::string traffic = draw_traffic(dice, classes, engine.max_model_len, engine.crowded && !swaps);
  if (crowded) traffic += draw_crowd(host, engine.max_model_len, swaps);
  engine.yaml += draw_tiers(host, engine, model, traffic);
  if (engine.moves_kv() && head.find("  network:") == std::string::npos)
    head.replace(head.find(cluster), cluster.size(),
                 "cluster:\n  network: {node: hgx_h100, fabric: infiniband_ndr}\n");
  const std::string reserved = fmt::format("{}engine:\n{}  num_gpu_blocks_override: {}\n{}", head,
                                           engine.yaml, engine.blocks, traffic);
  if (dice.one_in(2)) return reserved;
  const Scenario probe = parse_scenario("random.yaml", reserved);
  return fmt::format("{}engine:\n{}{}{}", head, engine.yaml, draw_tight_memory(dice, engine, probe),
                     traffic);
}

}  // namespace

std::string random_scenario(std::uint64_t seed) { return draw_scenario(seed, false); }

std::string random_crowded_scenario(std::uint64_t seed) { return draw_scenario(seed, true); }

}  // namespace tokenline::test
