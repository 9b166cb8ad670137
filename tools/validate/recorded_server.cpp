#include "tools/validate/recorded_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "sim/config/reader.hpp"
#include "tools/validate/columns.hpp"
#include "tools/validate/engine_version.hpp"
#include "workloads/models/architecture.hpp"

namespace tokenline::validate {
namespace {

using config::Node;

/// Arguments that are simulated: read by read_arguments().
constexpr std::array<std::string_view, 12> modelled{"model",
                                                    "tensor_parallel_size",
                                                    "pipeline_parallel_size",
                                                    "data_parallel_size",
                                                    "enable_expert_parallel",
                                                    "max_num_seqs",
                                                    "max_num_batched_tokens",
                                                    "max_model_len",
                                                    "gpu_memory_utilization",
                                                    "enable_prefix_caching",
                                                    "quantization",
                                                    "kv_cache_dtype"};

/// Arguments of names, files and logs, which take no time of a request.
constexpr std::array<std::string_view, 16> without_effect{"tokenizer",
                                                          "tokenizer_mode",
                                                          "trust_remote_code",
                                                          "download_dir",
                                                          "load_format",
                                                          "revision",
                                                          "seed",
                                                          "served_model_name",
                                                          "host",
                                                          "port",
                                                          "api_key",
                                                          "disable_log_stats",
                                                          "uvicorn_log_level",
                                                          "disable_log_requests",
                                                          "max_log_len",
                                                          "generation_config"};

/// Arguments with the values that are simulated in any case.
struct Usual {
  std::string_view name;
  std::array<std::string_view, 4> values;
};
constexpr std::array<Usual, 7> usual{{{"dtype", {"auto", "bfloat16", "float16", "half"}},
                                      {"enforce_eager", {"false"}},
                                      {"enable_lora", {"false"}},
                                      {"disable_custom_all_reduce", {"false"}},
                                      {"cpu_offload_gb", {"0"}},
                                      {"scheduling_policy", {"fcfs"}},
                                      {"distributed_executor_backend", {"mp"}}}};

bool contains(const auto& names, std::string_view name) {
  return std::ranges::find(names, name) != std::ranges::end(names);
}

std::string not_modelled(const Node::Entry& argument) {
  const std::string value = argument.value.kind == Node::Kind::scalar ? argument.value.scalar : "…";
  return fmt::format("engine argument {}: {} is not modelled", argument.key, value);
}

/// Whether an argument leaves the simulated server as it is.
bool harmless(const Node::Entry& argument, std::string_view preset) {
  if (argument.value.kind == Node::Kind::null) return true;
  if (contains(modelled, argument.key) || contains(without_effect, argument.key)) return true;
  if (argument.value.kind != Node::Kind::scalar) return false;
  const std::string& value = argument.value.scalar;
  // Engine V0 computes prompts whole unless told otherwise, V1 in chunks.
  if (argument.key == "enable_chunked_prefill")
    return value == (preset == "vllm-v0" ? "false" : "true");
  const auto found = std::ranges::find(usual, argument.key, &Usual::name);
  return found != usual.end() && !value.empty() && contains(found->values, value);
}

/// What the weights were served in: the argument, else the checkpoint's own.
std::string weights_of(const Deployment& server, const std::optional<std::string>& quantization) {
  if (quantization) return *quantization;
  const auto preset = preset_of_model(server.model);
  if (!preset) return "";
  const models::Precision own = models::load_model(*preset).quantization;
  return own == models::Precision::bfloat16 ? "" : std::string(models::name(own));
}

/// The arguments of `vllm serve` that are simulated, as keys of the engine or of the deployment;
/// returns why one of them is refused.
std::string read_arguments(config::Reader& arguments, Deployment& server) {
  const auto given = [&](const char* name) { return !arguments.is_null(name); };
  const auto count = [&](const char* name, const char* doc, config::Range<std::int64_t> range) {
    return given(name) ? arguments.optional_integer({name, doc}, range) : std::nullopt;
  };
  const auto text = [&](const char* name, const char* doc) {
    return given(name) ? arguments.optional_text({name, doc}) : std::nullopt;
  };
  const auto flag = [&](const char* name, const char* doc) {
    return given(name) && arguments.has(name) ? std::optional(arguments.boolean({name, doc}))
                                              : std::nullopt;
  };
  const auto key = [&](const char* name, const auto& value) {
    if (value) server.engine_keys.push_back(fmt::format("{}: {}", name, *value));
  };
  server.tensor_parallel =
      count("tensor_parallel_size", "GPUs that share the model.", gpu_counts).value_or(1);
  server.pipeline_parallel =
      count("pipeline_parallel_size", "Stages of the model.", gpu_counts).value_or(1);
  server.attention_data_parallel =
      count("data_parallel_size", "Replicas of attention.", gpu_counts).value_or(1);
  if (flag("enable_expert_parallel", "Experts are spread over all GPUs.").value_or(false))
    server.expert_parallel = server.tensor_parallel * server.attention_data_parallel;
  key("max_num_seqs", count("max_num_seqs", "Most sequences that run at a time.", token_counts));
  key("max_num_batched_tokens",
      count("max_num_batched_tokens", "Most tokens of a step.", token_counts));
  key("max_model_len", count("max_model_len", "Most tokens of a request.", token_counts));
  if (given("gpu_memory_utilization"))
    key("gpu_memory_utilization",
        arguments.optional_real({"gpu_memory_utilization", "Share of memory."}, {0.01, 1.0}));
  key("enable_prefix_caching", flag("enable_prefix_caching", "Blocks are shared."));
  server.weights = weights_of(server, text("quantization", "Type of the weights."));
  const std::string kv = text("kv_cache_dtype", "Type of the KV cache.").value_or("auto");
  if (!plain_name(server.weights))
    return fmt::format("engine argument quantization: {} is not modelled", server.weights);
  if (kv == "fp8" || kv == "fp8_e4m3")
    server.engine_keys.emplace_back("kv_cache_dtype: fp8");
  else if (kv != "auto" && kv != "bfloat16" && kv != "float16")
    return fmt::format("engine argument kv_cache_dtype: {} is not modelled", kv);
  return "";
}

/// A run of another model than its engine was started with is none.
void check_model(config::Document& document, const std::string& model) {
  const Node* arguments = document.root().find("engine_kwargs");
  const Node* started = arguments == nullptr ? nullptr : arguments->find("model");
  if (started == nullptr || started->kind == Node::Kind::null || started->scalar == model) return;
  document.error(started->where, "engine_kwargs.model",
                 fmt::format("'{}', but the run is of '{}'", started->scalar, model));
}

}  // namespace

RecordedServer read_server(const std::string& file) {
  config::Document document(config::load_yaml(file));
  config::Reader root(document);
  root.allow_unknown();
  RecordedServer recorded;
  Deployment& server = recorded.deployment;
  server.model = root.text({"model", "Model as on Hugging Face."});
  server.gpu = root.text({"gpu", "GPU by its name in the catalog."});
  const std::string version = root.text({"vllm_version", "Version of vLLM that served."});
  recorded.requests = root.optional_integer({"num_requests", "Requests recorded."}, token_counts);
  if (const Node* requests = document.root().find("num_requests"))
    recorded.requests_at = requests->where;
  recorded.refused = version_mistake("vllm", version);
  if (recorded.refused.empty()) server.preset = preset_of_engine("vllm", version);
  config::Reader arguments = root.section({"engine_kwargs", "Arguments of the engine."});
  arguments.allow_unknown();
  const std::string refused = read_arguments(arguments, server);
  check_model(document, server.model);
  document.throw_if_errors();
  if (recorded.refused.empty()) recorded.refused = refused;
  for (const Node::Entry& argument : document.root().find("engine_kwargs")->entries)
    if (recorded.refused.empty() && !harmless(argument, server.preset))
      recorded.refused = not_modelled(argument);
  return recorded;
}

}  // namespace tokenline::validate
