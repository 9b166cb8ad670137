#include "tools/vllm/to_vllm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "sim/config/node.hpp"
#include "sim/config/numbers.hpp"
#include "sim/config/reader.hpp"
#include "tools/vllm/from_vllm.hpp"
#include "tools/vllm/model_names.hpp"

namespace tokenline::vllm {
namespace {

using config::Node;

const Node* at(const Node& root, std::string_view path) {
  const Node* node = &root;
  while (node != nullptr && !path.empty()) {
    const auto point = std::min(path.find('.'), path.size());
    node = node->kind == Node::Kind::mapping ? node->find(path.substr(0, point)) : nullptr;
    path = path.substr(std::min(point + 1, path.size()));
  }
  return node;
}

std::string scalar(const Node& root, std::string_view path) {
  const Node* node = at(root, path);
  return node == nullptr ? std::string() : node->scalar;
}

/// A value on one line.
std::string flow(const Node& node) {
  std::string out;
  const auto separate = [&] { return out.size() > 1 ? ", " : ""; };
  switch (node.kind) {
    case Node::Kind::scalar:
      return config::emit_scalar(node.scalar, node.quoted);
    case Node::Kind::sequence:
      out = "[";
      for (const Node& item : node.items) out += separate() + flow(item);
      return out + ']';
    case Node::Kind::mapping:
      out = "{";
      for (const auto& [key, where, value] : node.entries)
        out += separate() + key + ": " + flow(value);
      return out + '}';
    case Node::Kind::null:
      break;
  }
  return "null";
}

/// Every scalar of a tree, empty collections included, by its path.
void flatten(const Node& node, const std::string& path, std::map<std::string, std::string>& all) {
  if (node.kind == Node::Kind::mapping && !node.entries.empty())
    for (const auto& [key, where, value] : node.entries)
      flatten(value, path.empty() ? key : path + '.' + key, all);
  else if (!path.empty())
    all[path] = flow(node);
}

/// Whether two values are the same text or the same amount.
bool same_amount(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const auto equal = [](const auto& x, const auto& y) {
    return x && y && x->value() == y->value();
  };
  const auto x = config::parse_real(a);
  const auto y = config::parse_real(b);
  return (x.ok() && y.ok() && x.value == y.value) ||
         equal(config::parse_seconds(a), config::parse_seconds(b)) ||
         equal(config::parse_bytes(a), config::parse_bytes(b)) ||
         equal(config::parse_rate(a), config::parse_rate(b));
}

/// Mean and share of a uniform length, such that the benchmark draws from [low, high].
std::optional<std::pair<std::int64_t, double>> mean_and_ratio(std::int64_t low, std::int64_t high) {
  if ((low + high) % 2 != 0) return std::nullopt;
  const std::int64_t mean = (low + high) / 2;
  const double n = static_cast<double>(mean);
  const double exact = static_cast<double>(high - mean) / n;
  for (const double ratio : {exact, std::nextafter(exact, 0.0), std::nextafter(exact, 1.0)})
    if (ratio < 1.0 && std::floor(n * (1.0 - ratio)) == static_cast<double>(low) &&
        std::ceil(n * (1.0 + ratio)) == static_cast<double>(high))
      return std::pair(mean, ratio);
  return std::nullopt;
}

/// Writes the commands of one scenario without pools.
class Writer {
 public:
  explicit Writer(const Scenario& scenario) : scenario_(scenario), root_(scenario.resolved) {}

  Commands write() {
    serve();
    bench();
    return std::move(commands_);
  }

 private:
  void flag(const std::string& name, const std::string& value) {
    commands_.serve.push_back("--" + name);
    commands_.serve.push_back(value);
  }
  void number(const std::string& name, std::int64_t value, std::int64_t standard) {
    if (value != standard) flag(name, std::to_string(value));
  }
  void toggle(const std::string& name, bool on) {
    commands_.serve.push_back((on ? "--" : "--no-") + name);
  }

  void serve() {
    const std::string model = scalar(root_, "model");
    const std::string path =
        config::is_file_name(model)
            ? (std::filesystem::path(scenario_.file).parent_path() / model).generic_string()
            : model;
    commands_.serve = {"vllm", "serve", repository_of(path)};
    parallelism();
    limits();
    memory();
    speculation();
  }

  void parallelism() {
    const auto& p = scenario_.cluster.parallelism;
    number("tensor-parallel-size", p.tensor, 1);
    number("pipeline-parallel-size", p.pipeline, 1);
    number("prefill-context-parallel-size", p.context, 1);
    const bool experts = scenario_.cost && scenario_.cost->setup().model.moe.has_value();
    number("data-parallel-size", experts ? p.data : scenario_.cluster.replicas, 1);
    if (experts && p.expert > 1 && p.expert == p.tensor * p.data)
      commands_.serve.emplace_back("--enable-expert-parallel");
    if (const std::string nodes = scalar(root_, "cluster.network.nodes"); !nodes.empty())
      flag("nnodes", nodes);
  }

  void limits() {
    const EngineConfig& engine = scenario_.engine;
    if (engine.preset == "vllm-v0")
      commands_.environment.emplace_back("VLLM_USE_V1=0");
    else
      toggle("async-scheduling", engine.preset == "vllm-v1-async");
    if (scalar(root_, "engine.allow_long_max_model_len") == "true")
      commands_.environment.emplace_back("VLLM_ALLOW_LONG_MAX_MODEL_LEN=1");
    number("max-model-len", engine.max_model_len, 0);
    number("max-num-seqs", engine.max_num_seqs, 0);
    number("max-num-batched-tokens", engine.max_num_batched_tokens, 0);
    if (engine.scheduler == "orca") toggle("enable-chunked-prefill", false);
    if (engine.queue_policy == "priority") flag("scheduling-policy", "priority");
    const double usual = engine.preset == "vllm-v0" ? 0.01 : 0.0;
    if (engine.watermark != usual) flag("watermark", fmt::format("{}", engine.watermark));
    const std::int64_t graphs = engine.preset == "vllm-v0" ? 0 : 512;
    number("max-cudagraph-capture-size", engine.cuda_graph_max_tokens, graphs);
  }

  void memory() {
    const EngineConfig& engine = scenario_.engine;
    flag("gpu-memory-utilization", fmt::format("{}", engine.gpu_memory_utilization));
    number("block-size", engine.block_size, 16);
    if (engine.num_gpu_blocks_override)
      number("num-gpu-blocks-override", *engine.num_gpu_blocks_override, 0);
    toggle("enable-prefix-caching", engine.enable_prefix_caching);
    if (engine.kv_element == 1) flag("kv-cache-dtype", "fp8");
    if (engine.quantization == models::Precision::fp8) flag("quantization", "fp8");
    if (engine.quantization == models::Precision::fp8_block) flag("quantization", "fp8_per_block");
    if (engine.quantization == models::Precision::mxfp4) flag("quantization", "mxfp4");
    if (engine.offload_host > Bytes())
      flag("kv-offloading-size", fmt::format("{}", engine.offload_host.value() / 1073741824.0));
  }

  void speculation() {
    if (!scenario_.speculation) return;
    nlohmann::ordered_json config;
    config["method"] = scalar(root_, "speculation.method");
    if (const std::string draft = scalar(root_, "speculation.draft"); !draft.empty())
      config["model"] = repository_of(draft);
    config["num_speculative_tokens"] = scenario_.speculation->tokens;
    flag("speculative-config", config.dump());
  }

  void bench() {
    const Node* all = at(root_, "traffic");
    if (all == nullptr || all->entries.size() != 1) return;
    const Node& entry = all->entries.front().value;
    std::vector<std::string> words{"vllm", "bench", "serve", "--dataset-name", "random"};
    const std::string prompts = scalar(entry, "num_prompts");
    const auto prompt = length(entry, "prompt_tokens");
    const auto answer = length(entry, "output_tokens");
    if (prompts.empty() || !prompt || !answer || !arrivals(entry, words)) return;
    const auto add = [&](const std::string& name, const std::string& value) {
      words.push_back("--" + name);
      words.push_back(value);
    };
    const auto groups = at(entry, "shared_prefix.groups");
    const std::string prefix = scalar(entry, "shared_prefix.tokens");
    const bool repeated = groups != nullptr && groups->scalar != "1";
    if (repeated) {
      words[4] = "prefix_repetition";
      add("prefix-repetition-prefix-len", prefix);
      add("prefix-repetition-num-prefixes", groups->scalar);
    } else if (!prefix.empty()) {
      add("random-prefix-len", prefix);
    }
    if (repeated && (prompt->second > 0.0 || answer->second > 0.0)) return;
    const std::string kind = repeated ? "prefix-repetition-" : "random-";
    add(kind + (repeated ? "suffix-len" : "input-len"), std::to_string(prompt->first));
    add(kind + "output-len", std::to_string(answer->first));
    if (prompt->second == answer->second && prompt->second > 0.0)
      add("random-range-ratio", fmt::format("{}", prompt->second));
    else if (prompt->second != answer->second)
      add("random-range-ratio",
          fmt::format("{{\"input\": {}, \"output\": {}}}", prompt->second, answer->second));
    add("num-prompts", prompts);
    targets(entry, words);
    add("seed", std::to_string(scenario_.seed));
    words.emplace_back("--ignore-eos");
    commands_.bench = std::move(words);
  }

  static std::optional<std::pair<std::int64_t, double>> length(const Node& entry,
                                                               std::string_view key) {
    const Node* node = at(entry, key);
    if (node == nullptr) return std::nullopt;
    const auto whole = [](const std::string& text) { return config::parse_integer(text); };
    const std::string kind = scalar(*node, "distribution");
    if (node->kind == Node::Kind::scalar || kind == "fixed") {
      const auto value = whole(kind == "fixed" ? scalar(*node, "value") : node->scalar);
      if (!value.ok()) return std::nullopt;
      return std::pair(value.value, 0.0);
    }
    if (kind != "uniform") return std::nullopt;
    return mean_and_ratio(whole(scalar(*node, "min")).value, whole(scalar(*node, "max")).value);
  }

  static bool arrivals(const Node& entry, std::vector<std::string>& words) {
    const std::string process = scalar(entry, "arrival.process");
    const Node* rate = at(entry, "arrival.rate");
    const auto add = [&](const char* name, const std::string& value) {
      words.emplace_back(name);
      words.push_back(value);
    };
    if (process == "closed_loop") {
      add("--max-concurrency", scalar(entry, "arrival.max_concurrency"));
      return true;
    }
    if (rate == nullptr || rate->kind != Node::Kind::scalar) return false;
    const auto per_second = config::parse_rate(rate->scalar);
    if (!per_second) return false;
    add("--request-rate", fmt::format("{}", per_second->value()));
    if (process == "gamma") add("--burstiness", scalar(entry, "arrival.burstiness"));
    if (process == "constant") add("--burstiness", "inf");
    return true;
  }

  static void targets(const Node& entry, std::vector<std::string>& words) {
    bool first = true;
    for (const char* name : {"ttft", "tpot", "e2el"}) {
      const auto target = config::parse_seconds(scalar(entry, std::string("slo.") + name));
      if (!target) continue;
      if (first) words.emplace_back("--goodput");
      first = false;
      words.push_back(fmt::format("{}:{}", name, 1e3 * target->value()));
    }
  }

  const Scenario& scenario_;
  const Node& root_;
  Commands commands_;
};

/// What no flag says and the round trip is told beside them.
std::vector<std::string> beside(const Node& root) {
  std::vector<std::string> overrides;
  for (const char* key : {"speculation.acceptance", "speculation.accepted_lengths"})
    if (const Node* node = at(root, key))
      if (node->kind != Node::Kind::sequence || !node->items.empty())
        overrides.push_back(fmt::format("{}={}", key, flow(*node)));
  return overrides;
}

/// The name under which the traffic of the commands is compared: they give no class a name.
std::map<std::string, std::string> flattened(const Node& root, bool rename) {
  std::map<std::string, std::string> all;
  flatten(root, "", all);
  const Node* traffic = at(root, "traffic");
  if (!rename || traffic == nullptr || traffic->entries.size() != 1) return all;
  const std::string prefix = "traffic." + traffic->entries.front().key + '.';
  std::map<std::string, std::string> renamed;
  for (const auto& [path, value] : all)
    renamed[path.starts_with(prefix) ? "traffic.bench." + path.substr(prefix.size()) : path] =
        value;
  return renamed;
}

bool is_label(const std::string& path) {
  return path == "scenario" || path == "description" || path == "cluster.gpu";
}

bool of_traffic(const std::string& path) { return path.starts_with("traffic.") || path == "seed"; }

void compare(const std::map<std::string, std::string>& ours,
             const std::map<std::string, std::string>& theirs, std::vector<Unsaid>& unsaid) {
  const auto value = [](const auto& all, const std::string& path) {
    const auto found = all.find(path);
    return found == all.end() ? std::string("absent") : found->second;
  };
  std::map<std::string, std::string> either = ours;
  either.insert(theirs.begin(), theirs.end());
  for (const auto& [path, ignored] : either)
    if (!is_label(path) && !same_amount(value(ours, path), value(theirs, path)))
      unsaid.push_back({path, value(ours, path), value(theirs, path)});
}

}  // namespace

Commands to_vllm(const Scenario& scenario) {
  if (!scenario.pools.empty())
    return {.environment = {},
            .serve = {},
            .bench = {},
            .unsaid = {{"cluster.pools", "several kinds of replicas",
                        "no single command: a `vllm serve` per pool, with --kv-transfer-config"}}};
  Commands commands = Writer(scenario).write();
  std::vector<std::string> serve = commands.environment;
  serve.insert(serve.end(), commands.serve.begin(), commands.serve.end());
  const FromVllmOptions options{.gpu = scalar(scenario.resolved, "cluster.gpu"),
                                .overrides = beside(scenario.resolved),
                                .file = scenario.file};
  for (const std::string& assignment : options.overrides) {
    const auto equals = assignment.find('=');
    commands.unsaid.push_back({assignment.substr(0, equals), assignment.substr(equals + 1),
                               "what the server's drafts come to"});
  }
  const auto again = [&](const std::vector<std::string>& bench) {
    return parse_scenario(scenario.file, from_vllm(serve, bench, options).yaml).resolved;
  };
  const auto ours = flattened(scenario.resolved, true);
  std::vector<Unsaid> differences;
  try {
    if (!commands.bench.empty()) compare(ours, flattened(again(commands.bench), true), differences);
    const bool traffic_lost =
        commands.bench.empty() ||
        std::ranges::any_of(differences, [](const Unsaid& u) { return of_traffic(u.path); });
    if (traffic_lost) {
      commands.bench.clear();
      differences.clear();
      // Some traffic, which any server of these limits takes.
      const std::vector<std::string> least{
          "vllm", "bench", "serve", "--num-prompts", "1", "--input-len", "1", "--output-len", "1"};
      compare(ours, flattened(again(least), true), differences);
      std::erase_if(differences, [](const Unsaid& u) { return of_traffic(u.path); });
      differences.push_back({"traffic", "of the scenario", "no `vllm bench serve`"});
    }
  } catch (const config::ConfigError& error) {
    commands.bench.clear();
    differences = {{"engine", scenario.engine.preset, error.diagnostics().front().message}};
  }
  commands.unsaid.insert(commands.unsaid.end(), differences.begin(), differences.end());
  return commands;
}

}  // namespace tokenline::vllm
