#include "tools/vllm/model_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <vector>

#include "sim/config/diagnostic.hpp"
#include "workloads/models/architecture.hpp"

namespace tokenline::vllm {
namespace {

struct Repository {
  std::string_view name;
  std::string_view model;
  std::int64_t positions = 0;  ///< max_position_embeddings where it is not the preset's.
};

/// Names on Hugging Face by what they are here, the one that stands for a model first.
constexpr std::array<Repository, 55> repositories{{
    {"codellama/CodeLlama-34b-Instruct-hf", "codellama-34b"},
    {"codellama/CodeLlama-34b-hf", "codellama-34b"},
    {"deepseek-ai/DeepSeek-R1", "deepseek-r1"},
    {"deepseek-ai/DeepSeek-R1-0528", "deepseek-r1"},
    {"deepseek-ai/DeepSeek-V2-Lite", "deepseek-v2-lite"},
    {"deepseek-ai/DeepSeek-V2-Lite-Chat", "deepseek-v2-lite"},
    {"deepseek-ai/DeepSeek-V3", "deepseek-v3"},
    {"deepseek-ai/DeepSeek-V3-0324", "deepseek-v3"},
    {"deepseek-ai/DeepSeek-V3.1", "deepseek-v3"},
    {"openai/gpt-oss-120b", "gpt-oss-120b"},
    {"openai/gpt-oss-20b", "gpt-oss-20b"},
    {"moonshotai/Kimi-K2-Instruct", "kimi-k2"},
    {"moonshotai/Kimi-K2-Base", "kimi-k2"},
    {"meta-llama/Llama-2-13b-chat-hf", "llama-2-13b"},
    {"meta-llama/Llama-2-13b-hf", "llama-2-13b"},
    {"meta-llama/Llama-2-70b-chat-hf", "llama-2-70b"},
    {"meta-llama/Llama-2-70b-hf", "llama-2-70b"},
    {"meta-llama/Llama-2-7b-chat-hf", "llama-2-7b"},
    {"meta-llama/Llama-2-7b-hf", "llama-2-7b"},
    {"meta-llama/Llama-3.1-405B-Instruct", "llama-3.1-405b"},
    {"meta-llama/Llama-3.1-405B", "llama-3.1-405b"},
    {"meta-llama/Meta-Llama-3.1-405B-Instruct", "llama-3.1-405b"},
    {"meta-llama/Llama-3.1-70B-Instruct", "llama-3.1-70b"},
    {"meta-llama/Llama-3.1-70B", "llama-3.1-70b"},
    {"meta-llama/Meta-Llama-3.1-70B-Instruct", "llama-3.1-70b"},
    {"meta-llama/Meta-Llama-3.1-70B", "llama-3.1-70b"},
    {"meta-llama/Llama-3.3-70B-Instruct", "llama-3.1-70b"},
    {"meta-llama/Meta-Llama-3-70B-Instruct", "llama-3.1-70b", 8192},
    {"meta-llama/Meta-Llama-3-70B", "llama-3.1-70b", 8192},
    {"nvidia/Llama-3.1-70B-Instruct-FP8", "llama-3.1-70b-fp8"},
    {"meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"},
    {"meta-llama/Llama-3.1-8B", "llama-3.1-8b"},
    {"meta-llama/Meta-Llama-3.1-8B-Instruct", "llama-3.1-8b"},
    {"meta-llama/Meta-Llama-3.1-8B", "llama-3.1-8b"},
    {"meta-llama/Meta-Llama-3-8B-Instruct", "llama-3.1-8b", 8192},
    {"meta-llama/Meta-Llama-3-8B", "llama-3.1-8b", 8192},
    {"MiniMaxAI/MiniMax-M2.5", "minimax-m2.5"},
    {"mistralai/Mistral-Nemo-Instruct-2407", "mistral-nemo"},
    {"mistralai/Mistral-Nemo-Base-2407", "mistral-nemo"},
    {"mistralai/Mixtral-8x22B-Instruct-v0.1", "mixtral-8x22b"},
    {"mistralai/Mixtral-8x22B-v0.1", "mixtral-8x22b"},
    {"mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b"},
    {"mistralai/Mixtral-8x7B-v0.1", "mixtral-8x7b"},
    {"facebook/opt-13b", "opt-13b"},
    {"Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b"},
    {"Qwen/Qwen2.5-7B", "qwen2.5-7b"},
    {"Qwen/Qwen3-235B-A22B", "qwen3-235b-a22b"},
    {"Qwen/Qwen3-235B-A22B-FP8", "qwen3-235b-a22b-fp8"},
    {"Qwen/Qwen3-30B-A3B", "qwen3-30b-a3b"},
    {"Qwen/Qwen3-32B", "qwen3-32b"},
    {"Qwen/Qwen3-32B-FP8", "qwen3-32b-fp8"},
    {"Qwen/Qwen3-8B", "qwen3-8b"},
    {"Qwen/Qwen3-8B-Base", "qwen3-8b"},
    {"01-ai/Yi-34B", "yi-34b"},
    {"01-ai/Yi-34B-Chat", "yi-34b"},
}};

struct Suffix {
  std::string_view text;          ///< Lower case.
  std::string_view quantization;  ///< Empty: not priced.
};

/// How quantised checkpoints are named. Qwen's own -FP8 has scales of 128 x 128 blocks.
constexpr std::array<Suffix, 14> suffixes{{
    {"-fp8-dynamic", "fp8"},
    {"-fp8-block", "fp8_block"},
    {"-fp8-kv", "fp8"},
    {"-fp8", "fp8"},
    {"-awq-int4", ""},
    {"-awq", ""},
    {"-gptq-int4", ""},
    {"-gptq-int8", ""},
    {"-gptq", ""},
    {"-quantized.w4a16", ""},
    {"-quantized.w8a8", ""},
    {"-nvfp4", ""},
    {"-fp4", ""},
    {"-bnb-4bit", ""},
}};

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string last_part(std::string name) {
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  return name.substr(name.rfind('/') + 1);
}

std::optional<NamedModel> exact(const std::string& name) {
  const std::string last = lower(last_part(name));
  for (const Repository& known : repositories)
    if (lower(last_part(std::string(known.name))) == last)
      return NamedModel{.model = std::string(known.model),
                        .quantization = {},
                        .unmodelled = {},
                        .positions = known.positions};
  const auto names = models::model_names();
  if (std::ranges::find(names, last) == names.end()) return std::nullopt;
  return NamedModel{.model = last, .quantization = {}, .unmodelled = {}};
}

}  // namespace

std::optional<NamedModel> find_model(const std::string& name) {
  const std::string config =
      name.ends_with(".json") ? name : (std::filesystem::path(name) / "config.json").string();
  if (std::filesystem::is_regular_file(config))
    return NamedModel{.model = config, .quantization = {}, .unmodelled = {}};
  if (auto found = exact(name)) return found;
  const std::string small = lower(last_part(name));
  for (const Suffix& suffix : suffixes) {
    if (!small.ends_with(suffix.text)) continue;
    const std::string base = last_part(name).substr(0, small.size() - suffix.text.size());
    auto found = exact(base);
    if (!found) return std::nullopt;
    found->quantization = suffix.quantization;
    const bool qwen = lower(name).starts_with("qwen/") && suffix.text == "-fp8";
    if (qwen) found->quantization = "fp8_block";
    if (suffix.quantization.empty()) found->unmodelled = suffix.text.substr(1);
    return found;
  }
  return std::nullopt;
}

std::string repository_of(std::string_view model) {
  if (model.ends_with("/config.json"))
    return std::string(model.substr(0, model.size() - std::string_view("/config.json").size()));
  const auto found = std::ranges::find(repositories, model, &Repository::model);
  return found == repositories.end() ? std::string(model) : std::string(found->name);
}

std::string model_hint(const std::string& name) {
  std::vector<std::string> known;
  for (const Repository& repository : repositories)
    known.push_back(last_part(std::string(repository.name)));
  const auto near = config::closest(last_part(name), known);
  return fmt::format("{}give its config.json: a folder that holds one, or --set model=FILE",
                     near ? fmt::format("did you mean '{}'? Or ", *near) : "");
}

}  // namespace tokenline::vllm
