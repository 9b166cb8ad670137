#include "tools/validate/deployment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "hwmodels/gpu.hpp"
#include "sim/base/check.hpp"
#include "tools/validate/columns.hpp"
#include "workloads/models/architecture.hpp"

namespace tokenline::validate {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// The `cluster:` and `engine:` keys, each only where it says something.
std::string cluster_text(const Deployment& d, const std::string& gpu) {
  std::vector<std::string> keys{"gpu: " + gpu,
                                fmt::format("tensor_parallel_size: {}", d.tensor_parallel)};
  if (d.attention_data_parallel > 1)
    keys.push_back(fmt::format("attention_data_parallel_size: {}", d.attention_data_parallel));
  if (d.pipeline_parallel > 1)
    keys.push_back(fmt::format("pipeline_parallel_size: {}", d.pipeline_parallel));
  if (d.expert_parallel > 1)
    keys.push_back(fmt::format("expert_parallel_size: {}", d.expert_parallel));
  if (d.decode_tensor_parallel > 0)
    keys.push_back(fmt::format(
        "network: {{node: {}}}, pools: {{prefill: {{role: prefill}}, decode: {{role: decode, "
        "tensor_parallel_size: {}}}}}",
        gpu.starts_with("a100") ? "hgx_a100" : "hgx_h100", d.decode_tensor_parallel));
  return fmt::format("{}", fmt::join(keys, ", "));
}

/// A checkpoint that is quantised as published is served as it is: "fp8" of DeepSeek-V3 is its own
/// block-wise fp8, "nvfp4" or "fp8" of gpt-oss on Hopper its MXFP4 weights.
bool own_quantization(const models::Architecture& model, const std::string& weights) {
  if (model.quantization == models::Precision::mxfp4) return weights != "bfloat16";
  return (model.quantization == models::Precision::fp8 ||
          model.quantization == models::Precision::fp8_block) &&
         (weights == "fp8" || weights == "fp8_block");
}

std::string engine_text(const Deployment& d, const models::Architecture& model) {
  std::vector<std::string> keys{"preset: " + d.preset};
  if (!d.weights.empty() && !own_quantization(model, d.weights))
    keys.push_back("quantization: " + d.weights);
  // NVIDIA's per-tensor fp8 checkpoints, and engines built with --quantization FP8, cache in fp8.
  if (d.preset == "trtllm" && d.weights == "fp8" && !own_quantization(model, d.weights))
    keys.emplace_back("kv_cache_dtype: fp8");
  if (d.weights.empty() && model.quantization != models::Precision::bfloat16)
    keys.emplace_back("quantization: bfloat16");
  keys.insert(keys.end(), d.engine_keys.begin(), d.engine_keys.end());
  return fmt::format("{}", fmt::join(keys, ", "));
}

/// Whether a text is the path of an entry that calibrate wrote; it stands in a scenario as it is.
bool is_gpu_file(const std::string& text) {
  constexpr std::string_view suffix = ".yaml";
  return text.ends_with(suffix) &&
         std::ranges::all_of(text, [](char c) { return plain(c) || c == '/'; }) &&
         std::filesystem::is_regular_file(text);
}

/// "engine.preset: unknown engine 'x'": the first mistake without its place, so that the same
/// reason reads the same for every row.
std::string reason(const config::ConfigError& e) {
  const config::Diagnostic& first = e.diagnostics().front();
  const std::string message = first.message.substr(0, first.message.find('\n'));
  return first.path.empty() ? message : first.path + ": " + message;
}

}  // namespace

std::optional<std::string> preset_of_model(const std::string& name) {
  const auto known = models::model_names();
  const auto slash = name.rfind('/');
  std::string bare = slash == std::string::npos ? name : name.substr(slash + 1);
  std::ranges::transform(bare, bare.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::string_view prefix = "meta-";
  if (bare.starts_with(prefix)) bare.erase(0, prefix.size());
  for (const std::string_view suffix : {"", "-nvfp4", "-fp8", "-instruct"}) {
    if (bare.ends_with(suffix)) bare.erase(bare.size() - suffix.size());
    if (contains(known, bare)) return bare;
  }
  return std::nullopt;
}

Built build(const Deployment& d, const std::string& traffic) {
  const auto refused = [](std::string why) { return Built{std::nullopt, std::move(why)}; };
  auto gpu = hw::catalog_name(d.gpu);
  if (!gpu && is_gpu_file(d.gpu)) gpu = d.gpu;
  if (!gpu) return refused(fmt::format("GPU '{}' is not in the catalog", d.gpu));
  const auto preset = preset_of_model(d.model);
  if (!preset) return refused(fmt::format("no model preset for '{}'", d.model));
  const std::int64_t gpus = d.pipeline_parallel * d.tensor_parallel *
                            std::max<std::int64_t>(d.attention_data_parallel, 1);
  if (gpus > hw::load_gpu(*gpu).gpus_per_node) return refused("a replica larger than a node");
  const std::string text = fmt::format(
      "scenario: validation\nmodel: {}\ncluster: {{{}}}\nengine: {{{}}}\ntraffic:\n{}", *preset,
      cluster_text(d, *gpu), engine_text(d, models::load_model(*preset)), traffic);
  try {
    return {parse_scenario("<validation>", text), ""};
  } catch (const config::ConfigError& e) {
    return refused(reason(e));
  }
}

RunResult run_audited(Scenario& scenario, std::span<const TimePoint> probes) {
  RunResult result = run(scenario, probes);
  for (const AuditCheck& check : result.audit.checks)
    TOKENLINE_CHECK(check.passed, "audit {} ({}): {}", check.id, check.name, check.details);
  return result;
}

}  // namespace tokenline::validate
