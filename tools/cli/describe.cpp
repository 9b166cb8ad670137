#include <fmt/format.h>

#include <algorithm>

#include "hwmodels/gpu.hpp"
#include "hwmodels/network/fabric.hpp"
#include "sim/engine/engine_config.hpp"
#include "sim/engine/presets/presets.hpp"
#include "sim/engine/scenario.hpp"
#include "sim/report/study.hpp"
#include "sim/report/text_table.hpp"
#include "tools/cli/arguments.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/describe_gpu.hpp"
#include "tools/cli/describe_network.hpp"
#include "tools/plan/plan.hpp"
#include "tools/sweep/sweep.hpp"
#include "workloads/models/architecture.hpp"

namespace tokenline::cli {
namespace {

Usage describe_usage() {
  return {
      .synopsis = "describe NAME",
      .about =
          "Explains a model, GPU (by any of its names, or the FILE.yaml of one), network, policy "
          "or "
          "engine\nof `tokenline list`, or, with the name `scenario`, `study`, `plan` or `sweep`, "
          "every key "
          "of such "
          "a file: type,\nrange, default, meaning.",
      .positional = "NAME",
      .options = {},
      .epilogue = std::string(exit_codes())};
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

constexpr std::size_t width = 92;

/// "integer, 1 to 64; default 16": what a key accepts, and what holds without it.
std::string accepted(const config::KeyInfo& key) {
  std::string line = key.type;
  if (!key.range.empty()) line += ", " + key.range;
  if (!key.unit.empty()) line += fmt::format(", as in {}", key.unit);
  if (key.required) return line + "; required" + (key.when.empty() ? "" : " " + key.when);
  line += key.standard.empty() ? "; optional" : "; default " + key.standard;
  return line + (key.when.empty() ? "" : ", " + key.when);
}

/// Forms of one key that follow one another share its name.
std::string describe_keys(std::span<const config::KeyInfo> keys) {
  std::string out;
  const config::KeyInfo* before = nullptr;
  for (const config::KeyInfo& key : keys) {
    const bool again = before != nullptr && before->path == key.path;
    if (!again) out += key.path + '\n';
    out += report::wrapped(again ? "or " + accepted(key) : accepted(key), 4, width);
    if (!again || before->doc != key.doc) out += report::wrapped(key.doc, 4, width);
    before = &key;
  }
  return out;
}

std::string describe_model(const std::string& name) {
  const models::Architecture m = models::load_model(name);
  report::TextTable table(2);
  const auto row = [&](const char* label, std::int64_t value) {
    table.row({fmt::format("  {}", label), fmt::format("{}", value)});
  };
  row("layers", m.layers);
  row("hidden size", m.hidden_size);
  row("attention heads", m.attention_heads);
  row("KV heads", m.kv_heads);
  row("head dimension", m.head_dim);
  row("MLP width", m.intermediate_size);
  row("vocabulary", m.vocab_size);
  row("longest context (tokens)", m.max_position_embeddings);
  row("parameters", m.parameters());
  row("parameters met by a token", m.active_parameters());
  row("KV per token (bytes, 16 bit)", static_cast<std::int64_t>(m.kv_bytes_per_token().value()));
  if (m.moe) {
    row("experts", m.moe->experts);
    row("experts per token", m.moe->experts_per_token);
  }
  if (m.mla) row("latent attention rank", m.mla->kv_lora_rank);
  if (m.sliding_window) row("sliding window (tokens)", *m.sliding_window);
  table.row({"  weights", m.quantization == models::Precision::bfloat16
                              ? m.dtype
                              : std::string(models::name(m.quantization))});
  return fmt::format("model {} ({})\n{}  source: its config.json on Hugging Face\n", name,
                     m.model_type, table.text());
}

std::string describe_engine(const presets::File& file) {
  return fmt::format(
      "engine {}\n{}Any key of `engine:` can be set over it; those it leaves out have the defaults "
      "of\n`tokenline describe scenario`.\n",
      file.name, file.text);
}

template <class Registry>
std::string describe_policy(std::string_view kind, const Registry& registry,
                            const std::string& name) {
  if (!contains(registry.names(), name)) return {};
  const auto& entry = registry.at(name);
  return fmt::format("{} policy {}\n{}  source: {}\n", kind, name,
                     report::wrapped(entry.summary, 2, width), entry.source);
}

std::vector<std::string> known_names(const Policies& policies) {
  std::vector<std::string> names{"scenario", "study", "plan", "sweep"};
  for (const auto& some :
       {models::model_names(), hw::gpu_names(), hw::node_fabric_names(), hw::inter_fabric_names(),
        policies.admission.names(), policies.queue.names(), policies.router.names(),
        policies.scheduler.names(), engine_preset_names()})
    for (const std::string& name : some)
      if (!contains(names, name)) names.push_back(name);
  for (const std::string& gpu : hw::gpu_names())
    for (const std::string& alias : hw::load_gpu(gpu).also_called) names.push_back(alias);
  return names;
}

/// Everything of that name, blank lines between: a scheduler and an engine may share one.
std::string describe(const std::string& name) {
  const Policies policies = builtin_policies();
  if (name == "scenario") return describe_keys(scenario_keys());
  if (name == "study") return describe_keys(report::study_keys());
  if (name == "plan") return describe_keys(plan::plan_keys());
  if (name == "sweep") return describe_keys(sweep::sweep_keys());
  if (name.ends_with(".yaml")) return describe_gpu(name);
  std::vector<std::string> found;
  if (contains(models::model_names(), name)) found.push_back(describe_model(name));
  if (const auto gpu = hw::catalog_name(name)) found.push_back(describe_gpu(*gpu));
  if (contains(hw::node_fabric_names(), name)) found.push_back(describe_node_fabric(name));
  if (contains(hw::inter_fabric_names(), name)) found.push_back(describe_inter_fabric(name));
  found.push_back(describe_policy("admission", policies.admission, name));
  found.push_back(describe_policy("queue", policies.queue, name));
  found.push_back(describe_policy("router", policies.router, name));
  found.push_back(describe_policy("scheduler", policies.scheduler, name));
  for (const presets::File& file : presets::files())
    if (file.name == name) found.push_back(describe_engine(file));
  std::string out;
  for (const std::string& text : found)
    if (!text.empty()) out += (out.empty() ? "" : "\n") + text;
  if (out.empty()) throw UsageError(unknown("name", name, known_names(policies)));
  return out;
}

}  // namespace

Outcome describe_command(const std::vector<std::string>& words) {
  const auto arguments = parse(describe_usage(), words);
  if (!arguments) return {success, help_text(describe_usage())};
  return {success, describe(arguments->positional())};
}

}  // namespace tokenline::cli
