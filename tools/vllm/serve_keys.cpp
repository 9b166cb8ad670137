#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "sim/config/node.hpp"
#include "sim/config/numbers.hpp"
#include "sim/config/reader.hpp"
#include "tools/vllm/from_vllm.hpp"
#include "tools/vllm/model_names.hpp"
#include "workloads/models/architecture.hpp"

namespace tokenline::vllm {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view serve_name = "vllm serve";
/// What the presets vllm-v1 and vllm-v1-async say: vLLM's own on GPUs of the H100 class.
constexpr std::int64_t preset_tokens = 8192;
constexpr std::int64_t preset_sequences = 1024;

/// Methods of vLLM that nothing here prices.
constexpr std::array<std::string_view, 28> other_quantizations{"awq",
                                                               "auto_awq",
                                                               "awq_marlin",
                                                               "gptq",
                                                               "auto_gptq",
                                                               "gptq_marlin",
                                                               "gptq_marlin_24",
                                                               "marlin",
                                                               "bitsandbytes",
                                                               "bitblas",
                                                               "gguf",
                                                               "modelopt_fp4",
                                                               "modelopt_mxfp8",
                                                               "modelopt_mixed",
                                                               "fp_quant",
                                                               "humming",
                                                               "experts_int8",
                                                               "quark",
                                                               "moe_wna16",
                                                               "torchao",
                                                               "inc",
                                                               "online",
                                                               "ipex",
                                                               "rtn",
                                                               "mxfp8",
                                                               "petit_nvfp4",
                                                               "int8_per_channel_weight_only",
                                                               "nvfp4_per_token"};

std::string quantization_hint(const std::string& method) {
  std::vector<std::string> known{"fp8", "fp8_per_block", "mxfp4", "compressed-tensors"};
  for (const std::string_view other : other_quantizations) known.emplace_back(other);
  return config::suggestion(method, known);
}

bool is_any(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

/// Turns the flags of one server into keys.
class Server {
 public:
  Server(const CommandLine& line, const FromVllmOptions& options, Keys& keys)
      : line_(line), options_(options), keys_(keys) {}

  void translate() {
    read_model();
    read_preset();
    read_parallelism();
    read_limits();
    read_memory();
    read_precision();
    read_graphs();
    read_speculation();
    read_environment();
    name_network();
  }

 private:
  [[nodiscard]] const Given* find(std::string_view name) const { return line_.find(name); }

  void mistake(const Given& given, std::string message, std::string hint = {}) {
    keys_.mistake(mistake_in(given.text, "", std::move(message), std::move(hint)));
  }

  std::optional<std::int64_t> integer(std::string_view flag, std::int64_t least) {
    const Given* given = find(flag);
    if (given == nullptr) return std::nullopt;
    const auto number = human_int(given->values.front());
    if (number && *number >= least) return number;
    mistake(*given, fmt::format("'{}' is no whole number from {} on", given->values.front(), least),
            "as in 8192, 8k (8000) or 8K (8192)");
    return std::nullopt;
  }

  std::optional<double> real(std::string_view flag) {
    const Given* given = find(flag);
    if (given == nullptr) return std::nullopt;
    const auto number = config::parse_real(given->values.front());
    if (number.ok()) return number.value;
    mistake(*given, fmt::format("'{}' is no number", given->values.front()));
    return std::nullopt;
  }

  void set(const std::string& key, const std::string& value, std::string_view flag) {
    keys_.set(key, value, find(flag)->text);
  }

  /// The override of a key that must be known before the rest.
  [[nodiscard]] std::optional<std::string> override_of(std::string_view key) const {
    std::optional<std::string> value;
    for (const std::string& assignment : options_.overrides)
      if (assignment.size() > key.size() && assignment.starts_with(key) &&
          assignment[key.size()] == '=')
        value = assignment.substr(key.size() + 1);
    return value;
  }

  void read_model() {
    std::string name;
    std::string text;
    if (!line_.positional.empty()) name = text = line_.positional.front();
    if (const Given* given = find("model")) {
      if (name.empty()) {
        name = given->values.front();
        text = given->text;
      }
    }
    for (std::size_t i = 1; i < line_.positional.size(); ++i)
      keys_.mistake(mistake_in(std::string(serve_name), "",
                               fmt::format("unexpected word '{}'", line_.positional[i])));
    const auto forced = override_of("model");
    if (name.empty() && !forced) {
      keys_.mistake(mistake_in(std::string(serve_name), "", "names no model",
                               "vllm serve meta-llama/Llama-3.1-8B-Instruct …"));
      return;
    }
    keys_.set("scenario", config::emit_scalar(name.substr(name.rfind('/') + 1), true), "");
    auto found = find_model(forced ? *forced : name);
    if (!found) {
      keys_.mistake(mistake_in(name, "model", "no built-in model of that name", model_hint(name)));
      return;
    }
    const std::string model =
        config::is_file_name(found->model) ? named_from(options_, found->model) : found->model;
    keys_.set("model", config::emit_scalar(model, false), text);
    if (!found->quantization.empty()) keys_.set("engine.quantization", found->quantization, text);
    if (!found->unmodelled.empty())
      keys_.unmodelled(name, fmt::format("quantisation {} is priced at 16 bit", found->unmodelled));
    if (found->positions > 0) {
      keys_.set("engine.max_model_len", std::to_string(found->positions), text);
      positions_ = found->positions;
    }
    model_ = models::load_model(found->model);
    if (positions_ == 0) positions_ = model_->max_position_embeddings;
  }

  void read_preset() {
    keys_.set("engine.preset", "vllm-v1", "");
    for (const auto& [name, value] : line_.environment)
      if (name == "VLLM_USE_V1" && value == "0") keys_.set("engine.preset", "vllm-v0", name + "=0");
    const Given* async = find("async-scheduling");
    if (async == nullptr) return;
    if (keys_.value("engine.preset") == "vllm-v0")
      mistake(*async, "engine V0 has no asynchronous scheduling");
    else
      set("engine.preset", async->on ? "vllm-v1-async" : "vllm-v1", "async-scheduling");
  }

  void read_parallelism() {
    const std::int64_t tensor = integer("tensor-parallel-size", 1).value_or(1);
    const std::int64_t stages = integer("pipeline-parallel-size", 1).value_or(1);
    const std::int64_t data = integer("data-parallel-size", 1).value_or(1);
    const std::int64_t context = integer("prefill-context-parallel-size", 1).value_or(1);
    if (find("tensor-parallel-size") != nullptr)
      set("cluster.tensor_parallel_size", std::to_string(tensor), "tensor-parallel-size");
    if (find("pipeline-parallel-size") != nullptr)
      set("cluster.pipeline_parallel_size", std::to_string(stages), "pipeline-parallel-size");
    if (find("prefill-context-parallel-size") != nullptr)
      set("cluster.context_parallel_size", std::to_string(context),
          "prefill-context-parallel-size");
    const bool experts = model_ && model_->moe;
    // Ranks of a dense model share nothing: they are replicas behind one door.
    if (find("data-parallel-size") != nullptr)
      set(experts ? "cluster.attention_data_parallel_size" : "cluster.replicas",
          std::to_string(data), "data-parallel-size");
    if (const Given* spread = find("enable-expert-parallel"); spread != nullptr && spread->on) {
      if (experts)
        set("cluster.expert_parallel_size", std::to_string(tensor * data),
            "enable-expert-parallel");
      else
        keys_.note("--enable-expert-parallel changes nothing: the model has no experts");
    }
    gpus_ = tensor * stages * context * (experts ? data : 1);
    if (const auto nodes = integer("nnodes", 1); nodes && *nodes > 1) {
      set("cluster.network.nodes", std::to_string(*nodes), "nnodes");
      needs_network_ = true;
    }
  }

  void read_limits() {
    read_length();
    const auto sequences = integer("max-num-seqs", 1);
    const auto tokens = integer("max-num-batched-tokens", 1);
    if (sequences) set("engine.max_num_seqs", std::to_string(*sequences), "max-num-seqs");
    if (tokens)
      set("engine.max_num_batched_tokens", std::to_string(*tokens), "max-num-batched-tokens");
    bool chunked = true;
    if (const Given* given = find("enable-chunked-prefill")) {
      chunked = given->on;
      if (!chunked) set("engine.scheduler", "orca", "enable-chunked-prefill");
    }
    if (keys_.value("engine.preset") != "vllm-v0") follow_limits(sequences, tokens, chunked);
    if (const Given* given = find("scheduling-policy")) {
      if (is_any(given->values.front(), {"fcfs", "priority"}))
        set("engine.queue_policy", given->values.front(), "scheduling-policy");
      else
        mistake(*given, "expected fcfs or priority");
    }
    if (const auto watermark = real("watermark"))
      set("engine.watermark", fmt::format("{}", *watermark), "watermark");
  }

  void read_length() {
    const Given* given = find("max-model-len");
    if (given == nullptr) return;
    if (is_any(given->values.front(), {"auto", "-1"})) {
      keys_.unmodelled(given->text,
                       "what fits the memory is not looked for; the model's positions");
      return;
    }
    const auto length = integer("max-model-len", 2);
    if (!length) return;
    positions_ = *length;
    set("engine.max_model_len", std::to_string(*length), "max-model-len");
  }

  /// vLLM makes the limits that are not given fit those that are (EngineArgs,
  /// _set_default_max_num_seqs_and_batched_tokens_args).
  void follow_limits(std::optional<std::int64_t> sequences, std::optional<std::int64_t> tokens,
                     bool chunked) {
    std::int64_t budget = tokens.value_or(preset_tokens);
    if (!tokens) {
      if (!chunked) budget = std::max(budget, positions_);
      const std::int64_t most = sequences.value_or(preset_sequences);
      if (positions_ > 0) budget = std::min(budget, most * positions_);
      if (budget != preset_tokens)
        keys_.set("engine.max_num_batched_tokens", std::to_string(budget),
                  "as vLLM makes it fit the other limits");
    }
    if (!sequences && budget < preset_sequences)
      keys_.set("engine.max_num_seqs", std::to_string(budget),
                "as vLLM makes it fit max_num_batched_tokens");
    if (sequences && tokens) return;
    const auto gpu = options_.gpu;
    if (!is_any(gpu, {"h100_sxm", "h100_pcie", "h200_sxm", "b200", "rtx_pro_6000"}))
      keys_.note(
          fmt::format("limits not given are those of the preset, {} sequences and {} tokens; on "
                      "this GPU vLLM's "
                      "own are 256 and 2048",
                      preset_sequences, preset_tokens));
  }

  void read_memory() {
    if (const auto share = real("gpu-memory-utilization"))
      set("engine.gpu_memory_utilization", fmt::format("{}", *share), "gpu-memory-utilization");
    if (const auto block = integer("block-size", 1))
      set("engine.block_size", std::to_string(*block), "block-size");
    if (const auto blocks = integer("num-gpu-blocks-override", 1))
      set("engine.num_gpu_blocks_override", std::to_string(*blocks), "num-gpu-blocks-override");
    if (const Given* given = find("enable-prefix-caching"))
      set("engine.enable_prefix_caching", given->on ? "true" : "false", "enable-prefix-caching");
    if (const auto host = real("kv-offloading-size")) {
      set("engine.kv_offload.host", fmt::format("{} GiB", *host), "kv-offloading-size");
      needs_network_ = true;
    }
  }

  void read_precision() {
    if (const Given* given = find("kv-cache-dtype")) {
      const std::string& type = given->values.front();
      if (is_any(type, {"auto", "bfloat16", "float16"}))
        set("engine.kv_cache_dtype", "auto", "kv-cache-dtype");
      else if (is_any(type, {"fp8", "fp8_e4m3", "fp8_e5m2", "fp8_inc"}))
        set("engine.kv_cache_dtype", "fp8", "kv-cache-dtype");
      else
        keys_.unmodelled(given->text, "the KV cache is 16 bit here");
    }
    if (const Given* given = find("dtype")) {
      const std::string& type = given->values.front();
      if (is_any(type, {"float", "float32"}))
        keys_.unmodelled(given->text, "16 bit here");
      else if (is_any(type, {"auto", "half", "float16", "bfloat16"}))
        keys_.note(given->text + ": 16 bit, as here");
      else
        mistake(*given, "expected auto, half, float16, bfloat16, float or float32");
    }
    const Given* given = find("quantization");
    if (given == nullptr) return;
    const std::string& method = given->values.front();
    if (is_any(method,
               {"fp8", "fbgemm_fp8", "ptpc_fp8", "modelopt", "fp8_per_tensor", "fp8_per_channel"}))
      set_fp8();
    else if (is_any(method, {"fp8_per_block", "deepseek_v4_fp8"}))
      set("engine.quantization", "fp8_block", "quantization");
    else if (is_any(method, {"mxfp4", "gpt_oss_mxfp4"}))
      set("engine.quantization", "mxfp4", "quantization");
    else if (is_any(method, {"compressed-tensors", "None", "none"}))
      keys_.note(given->text + ": as the checkpoint's name says");
    else if (std::ranges::find(other_quantizations, method) != other_quantizations.end())
      keys_.unmodelled(given->text, "weights are priced as without it");
    else
      mistake(*given, "no quantization of that name", quantization_hint(method));
  }

  /// Of a checkpoint that is fp8 in some way already, the flag only says so.
  void set_fp8() {
    const bool already = model_ && model_->quantization != models::Precision::bfloat16;
    if (already || keys_.value("engine.quantization"))
      keys_.note(find("quantization")->text + ": as the checkpoint says");
    else
      set("engine.quantization", "fp8", "quantization");
  }

  void read_graphs() {
    std::optional<std::int64_t> largest;
    std::string from;
    for (const std::string_view name : {"cuda-graph-sizes", "cudagraph-capture-sizes"})
      if (const Given* given = find(name)) {
        from = given->text;
        for (const std::string& value : given->values) {
          const auto size = config::parse_integer(value);
          if (!size.ok() || size.value < 1) return mistake(*given, "expected whole numbers");
          largest = std::max(largest.value_or(0), size.value);
        }
      }
    if (const auto size = integer("max-cudagraph-capture-size", 0)) {
      largest = size;
      from = find("max-cudagraph-capture-size")->text;
    }
    read_compilation(largest, from);
    if (const Given* eager = find("enforce-eager"); eager != nullptr && eager->on) {
      largest = 0;
      from = eager->text;
      keys_.unmodelled(eager->text,
                       "decode steps run as CUDA graphs here; steps with prompts do not");
    }
    if (largest) keys_.set("engine.cuda_graph_max_tokens", std::to_string(*largest), from);
  }

  void read_compilation(std::optional<std::int64_t>& largest, std::string& from) {
    const Given* given = find("compilation-config");
    if (given == nullptr) return;
    const Json config = Json::parse(given->values.front(), nullptr, false);
    if (config.is_number_integer()) return keys_.unmodelled(given->text, "a level of compilation");
    if (!config.is_object()) return mistake(*given, "no JSON object");
    for (const auto& [key, value] : config.items()) {
      if (key == "max_cudagraph_capture_size" && value.is_number_integer()) {
        largest = value.get<std::int64_t>();
        from = given->text;
      } else if (key == "cudagraph_capture_sizes" && value.is_array() && !value.empty() &&
                 std::ranges::all_of(value, [](const Json& v) { return v.is_number_integer(); })) {
        for (const Json& size : value)
          largest = std::max(largest.value_or(0), size.get<std::int64_t>());
        from = given->text;
      } else if (key == "cudagraph_mode" && value == "FULL_DECODE_ONLY") {
        largest = 0;
        from = given->text;
      } else if (key != "cudagraph_mode" || value != "FULL_AND_PIECEWISE") {
        keys_.unmodelled(fmt::format("--compilation-config {}: {}", key, value.dump()), "");
      }
    }
  }

  void read_speculation() {
    Json config = Json::object();
    std::string from;
    if (const Given* given = find("speculative-config")) {
      config = Json::parse(given->values.front(), nullptr, false);
      from = given->text;
      if (!config.is_object()) return mistake(*given, "no JSON object");
    }
    for (const auto& [flag, key] : {std::pair("spec-method", "method"), {"spec-model", "model"}})
      if (const Given* given = find(flag)) {
        config[key] = given->values.front();
        from += (from.empty() ? "" : " ") + given->text;
      }
    if (const auto tokens = integer("spec-tokens", 1)) {
      config["num_speculative_tokens"] = *tokens;
      from += (from.empty() ? "" : " ") + find("spec-tokens")->text;
    }
    if (!config.empty()) speculate(config, from);
  }

  void speculate(const Json& config, const std::string& from) {
    const auto text = [&](const char* key) {
      return config.contains(key) && config[key].is_string() ? config[key].get<std::string>() : "";
    };
    std::string method = text("method");
    const std::string draft = text("model");
    if (method.empty()) method = draft == "ngram" || draft == "[ngram]" ? "ngram" : "draft_model";
    if (method.ends_with("mtp")) method = "mtp";
    const std::string small_draft = draft;
    const bool eagle = small_draft.find("EAGLE") != std::string::npos ||
                       small_draft.find("eagle") != std::string::npos;
    if (!is_any(method, {"ngram", "draft_model", "mtp"}) || (method == "draft_model" && eagle)) {
      keys_.unmodelled(from, "drafts of that kind are not priced; no speculation here");
      return;
    }
    keys_.set("speculation.method", method, from);
    if (config.contains("num_speculative_tokens") &&
        config["num_speculative_tokens"].is_number_integer())
      keys_.set("speculation.num_speculative_tokens",
                std::to_string(config["num_speculative_tokens"].get<std::int64_t>()), from);
    else
      keys_.mistake(mistake_in(from, "num_speculative_tokens", "not given"));
    if (method == "draft_model") set_draft(draft, from);
    accept(config, from);
    for (const auto& [key, value] : config.items())
      if (!is_any(key,
                  {"method", "model", "num_speculative_tokens", "prompt_lookup_max",
                   "prompt_lookup_min", "rejection_sample_method", "synthetic_acceptance_rates"}))
        keys_.unmodelled(fmt::format("--speculative-config {}: {}", key, value.dump()), "");
  }

  void set_draft(const std::string& draft, const std::string& from) {
    if (override_of("speculation.draft")) return;
    if (const auto found = find_model(draft))
      keys_.set("speculation.draft", config::emit_scalar(found->model, false), from);
    else
      keys_.mistake(mistake_in(from, "model", fmt::format("no built-in model '{}'", draft),
                               "--set speculation.draft=FILE names its config.json"));
  }

  /// Rates of positions are unconditional in vLLM, and given the position before here.
  void accept(const Json& config, const std::string& from) {
    if (!config.contains("synthetic_acceptance_rates")) {
      for (const std::string& assignment : options_.overrides)
        if (assignment.starts_with("speculation.acc")) return;
      keys_.mistake(mistake_in(
          from, "", "no flag says how many drafts are accepted",
          "--set speculation.acceptance=0.7 (vLLM logs it as the draft acceptance rate)"));
      return;
    }
    std::string list;
    double before = 1.0;
    for (const Json& rate : config["synthetic_acceptance_rates"]) {
      if (!rate.is_number()) return;
      const double now = rate.get<double>();
      list += fmt::format("{}{}", list.empty() ? "" : ", ", before > 0.0 ? now / before : 0.0);
      before = now;
    }
    keys_.set("speculation.acceptance", "[" + list + "]", from);
  }

  void read_environment() {
    for (const auto& [name, value] : line_.environment) {
      const std::string text = name + '=' + value;
      if (name == "VLLM_USE_V1") continue;
      if (name == "VLLM_ALLOW_LONG_MAX_MODEL_LEN") {
        if (value != "0") keys_.set("engine.allow_long_max_model_len", "true", text);
      } else if (name == "VLLM_ATTENTION_BACKEND" && value.starts_with("FLASH_ATTN")) {
        keys_.note(text + ": as here");
      } else if (is_any(name, {"VLLM_LOGGING_LEVEL", "VLLM_HOST_IP", "VLLM_PORT", "VLLM_API_KEY",
                               "VLLM_CACHE_ROOT", "VLLM_NO_USAGE_STATS", "VLLM_USE_MODELSCOPE"})) {
        keys_.note(name + " is without effect here");
      } else if (name.starts_with("VLLM_") || name.starts_with("NCCL_")) {
        keys_.unmodelled(text, "");
      } else {
        keys_.note(name + " is without effect here");
      }
    }
  }

  /// The node of a GPU, where links inside or between nodes matter.
  void name_network() {
    if (gpus_ > 8) needs_network_ = true;
    if (!needs_network_ || override_of("cluster.network") || override_of("cluster.network.node"))
      return;
    const std::string& gpu = options_.gpu;
    const std::string node = gpu.starts_with("a100_sxm")                  ? "hgx_a100"
                             : is_any(gpu, {"h100_sxm", "h200_sxm"})      ? "hgx_h100"
                             : is_any(gpu, {"h100_pcie", "rtx_pro_6000"}) ? "pcie_gen5"
                                                                          : "pcie_gen4";
    keys_.set("cluster.network.node", node, "the usual node of " + gpu);
  }

  const CommandLine& line_;
  const FromVllmOptions& options_;
  Keys& keys_;
  std::optional<models::Architecture> model_;
  std::int64_t positions_ = 0;  ///< max_model_len in force.
  std::int64_t gpus_ = 1;       ///< Of a replica.
  bool needs_network_ = false;
};

}  // namespace

void serve_keys(const CommandLine& line, const FromVllmOptions& options, Keys& keys) {
  Server(line, options, keys).translate();
}

}  // namespace tokenline::vllm
