#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/config/reader.hpp"
#include "workloads/models/architecture.hpp"

namespace tokenline::models {
namespace {

using config::Range;
using config::Reader;

// Far beyond any model, and small enough that no count of parameters overflows 64 bits.
constexpr Range<std::int64_t> layer_range{1, 1'000};
constexpr Range<std::int64_t> width_range{1, 1'000'000};
constexpr Range<std::int64_t> head_range{1, 10'000};
constexpr Range<std::int64_t> expert_range{1, 2'000};
constexpr Range<std::int64_t> expert_width_range{1, 100'000};
constexpr Range<std::int64_t> token_range{1, 100'000'000};
constexpr Range<std::int64_t> layer_count_range{0, 1'000};

/// What a model_type implies beyond its config.json: the defaults of its class in Hugging Face
/// transformers 4.57 (`tie_word_embeddings`, biases) and its modelling code (norms, MLP).
struct Family {
  std::string_view model_type;
  bool tied_embeddings = false;
  bool qkv_bias = false;
  bool qk_norm = false;
  bool opt_style = false;  ///< Plain MLP, learned positions, biases everywhere.
};
constexpr std::array families{
    Family{.model_type = "deepseek_v2"},
    Family{.model_type = "deepseek_v3"},
    Family{.model_type = "gpt_oss", .qkv_bias = true},
    Family{.model_type = "kimi_k2"},
    Family{.model_type = "llama"},
    Family{.model_type = "minimax_m2", .qk_norm = true},
    Family{.model_type = "mistral"},
    Family{.model_type = "mixtral"},
    Family{.model_type = "opt", .tied_embeddings = true, .qkv_bias = true, .opt_style = true},
    Family{.model_type = "qwen2", .qkv_bias = true},
    Family{.model_type = "qwen3", .qk_norm = true},
    Family{.model_type = "qwen3_moe", .qk_norm = true},
};

Family read_family(Reader& reader) {
  std::vector<std::string> names;
  names.reserve(families.size());
  for (const Family& family : families) names.emplace_back(family.model_type);
  const std::string word = reader.word({"model_type", "Architecture family"}, names);
  const auto* const found = std::ranges::find(families, word, &Family::model_type);
  return found == families.end() ? Family{} : *found;
}

/// Whether the key has a value: Hugging Face writes null for "not used".
bool given(const Reader& reader, std::string_view key) {
  return reader.has(key) && !reader.is_null(key);
}

std::int64_t size(Reader& reader, config::Key key, Range<std::int64_t> range,
                  std::optional<std::int64_t> fallback = {}) {
  if (fallback && !given(reader, key.name)) return *fallback;
  return reader.integer(key, range);
}

/// Reports what several values contradict. Not where a mistake is known already: its stand-in value
/// would contradict the others.
void contradiction(const Reader& reader, std::string_view key, std::string message) {
  if (reader.document().ok()) reader.error(key, std::move(message));
}

void read_heads(Reader& reader, Architecture& model) {
  model.attention_heads = size(reader, {"num_attention_heads", "Query heads"}, head_range);
  model.kv_heads = size(reader, {"num_key_value_heads", "Key and value heads"}, head_range,
                        model.attention_heads);
  if (model.attention_heads % model.kv_heads != 0) {
    contradiction(reader, "num_key_value_heads",
                  fmt::format("{} key-value heads do not divide {} attention heads", model.kv_heads,
                              model.attention_heads));
  }
  model.head_dim = size(reader, {"head_dim", "Width of one head"}, head_range,
                        std::max<std::int64_t>(1, model.hidden_size / model.attention_heads));
  if (!given(reader, "head_dim") && model.hidden_size % model.attention_heads != 0) {
    contradiction(reader, "num_attention_heads",
                  fmt::format("{} heads do not divide hidden_size {}, and head_dim is not given",
                              model.attention_heads, model.hidden_size));
  }
}

void read_latent_attention(Reader& reader, Architecture& model) {
  if (!given(reader, "kv_lora_rank")) return;
  LatentAttention mla;
  mla.kv_lora_rank =
      size(reader, {"kv_lora_rank", "Width of the latent of keys and values"}, expert_width_range);
  if (given(reader, "q_lora_rank"))
    mla.q_lora_rank =
        size(reader, {"q_lora_rank", "Width of the latent of queries"}, expert_width_range);
  mla.qk_nope_head_dim =
      size(reader, {"qk_nope_head_dim", "Head width without position"}, head_range);
  mla.qk_rope_head_dim =
      size(reader, {"qk_rope_head_dim", "Head width with rotary position"}, head_range);
  mla.v_head_dim = size(reader, {"v_head_dim", "Width of a value head"}, head_range);
  model.mla = mla;
}

/// The first of `keys` that has a value; the first of all if none has.
std::string_view spelling(const Reader& reader, std::span<const std::string_view> keys) {
  const auto found =
      std::ranges::find_if(keys, [&](std::string_view key) { return given(reader, key); });
  return found == keys.end() ? keys.front() : *found;
}

/// Layers with a dense MLP: DeepSeek names the leading ones and a frequency, Qwen a step and a
/// list.
std::int64_t dense_layers(Reader& reader, std::int64_t layers) {
  const std::int64_t first_dense = reader.integer(
      {"first_k_dense_replace", "Leading layers with a dense MLP"}, layer_count_range, 0);
  const std::int64_t frequency =
      reader.integer({"moe_layer_freq", "Every how many layers one has experts"}, {1, 1000}, 1);
  const std::int64_t step = reader.integer(
      {"decoder_sparse_step", "Every how many layers one has experts"}, {1, 1000}, 1);
  const auto listed =
      reader.reals({"mlp_only_layers", "Layers with a dense MLP"}, {0.0, 1e6}, /*optional=*/true);
  if (first_dense > layers) {
    contradiction(reader, "first_k_dense_replace",
                  fmt::format("{} leading layers of {}", first_dense, layers));
  }
  std::int64_t dense = 0;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const bool in_list = std::ranges::find(listed, static_cast<double>(layer)) != listed.end();
    if (layer < first_dense || layer % frequency != 0 || (layer + 1) % step != 0 || in_list)
      ++dense;
  }
  return dense;
}

void read_experts(Reader& reader, Architecture& model) {
  constexpr std::array<std::string_view, 3> spellings{"num_local_experts", "n_routed_experts",
                                                      "num_experts"};
  const std::string_view key = spelling(reader, spellings);
  if (!given(reader, key)) return;
  MixtureOfExperts moe;
  moe.experts = size(reader, {key, "Routed experts of a layer"}, expert_range);
  moe.experts_per_token =
      size(reader, {"num_experts_per_tok", "Routed experts a token meets"}, expert_range);
  if (moe.experts_per_token > moe.experts) {
    contradiction(
        reader, "num_experts_per_tok",
        fmt::format("{} experts per token of {} experts", moe.experts_per_token, moe.experts));
  }
  if (given(reader, "n_shared_experts"))
    moe.shared_experts =
        reader.integer({"n_shared_experts", "Experts every token meets"}, layer_count_range);
  // Mixtral, gpt-oss and MiniMax give the width of an expert as intermediate_size.
  moe.expert_intermediate_size = size(reader, {"moe_intermediate_size", "Inner width of an expert"},
                                      expert_width_range, model.intermediate_size);
  moe.dense_layers = dense_layers(reader, model.layers);
  model.moe = moe;
}

std::int64_t listed_sliding_layers(Reader& reader, std::int64_t layers) {
  const auto types = reader.texts({"layer_types", "Attention of each layer"});
  if (static_cast<std::int64_t>(types.size()) != layers) {
    contradiction(reader, "layer_types",
                  fmt::format("{} entries for {} layers", types.size(), layers));
  }
  for (const std::string& type : types) {
    if (type != "sliding_attention" && type != "full_attention") {
      reader.error("layer_types", fmt::format("attention of kind '{}' is not modelled", type));
      break;
    }
  }
  return std::ranges::count(types, "sliding_attention");
}

void read_sliding_window(Reader& reader, Architecture& model) {
  const bool may_slide = reader.boolean(
      {"use_sliding_window", "Whether sliding_window applies (Qwen)"}, /*fallback=*/true);
  if (!may_slide || !given(reader, "sliding_window")) return;
  const std::int64_t window =
      size(reader, {"sliding_window", "Tokens a sliding-window layer attends to"}, token_range);
  if (given(reader, "layer_types")) {
    model.sliding_layers = listed_sliding_layers(reader, model.layers);
  } else {
    const std::int64_t full = reader.integer(
        {"max_window_layers", "Leading layers with full attention (Qwen)"}, layer_count_range, 0);
    model.sliding_layers = std::max<std::int64_t>(0, model.layers - full);
  }
  if (model.sliding_layers > 0) model.sliding_window = window;
}

/// Absent for gpt-oss and MiniMax, whose checkpoints keep what is not quantised in bfloat16.
/// Newer files spell it `dtype`.
std::string read_dtype(Reader& reader) {
  constexpr std::array<std::string_view, 2> spellings{"torch_dtype", "dtype"};
  const std::array<std::string, 2> types{"float16", "bfloat16"};
  const std::string_view key = spelling(reader, spellings);
  if (!given(reader, key)) return "bfloat16";
  return reader.word({key, "Type of activations and KV"}, types);
}

/// Fp8 with a `weight_block_size` has one scale per block; the kernels know 128 × 128 only.
Precision read_fp8(Reader& section) {
  if (!given(section, "weight_block_size")) return Precision::fp8;
  const auto block = section.reals({"weight_block_size", "Weights that share a scale"}, {1.0, 1e6});
  if (block != std::vector<double>{128.0, 128.0} && section.document().ok())
    section.error("weight_block_size", "blocks other than [128, 128] are not modelled");
  return Precision::fp8_block;
}

Precision read_quantization(Reader& reader) {
  if (!given(reader, "quantization_config")) return Precision::bfloat16;
  Reader section = reader.section({"quantization_config", "How weights are stored"});
  section.allow_unknown();
  const std::array<std::string, 3> methods{"fp8", "mxfp4", "modelopt"};
  const std::string method = section.word({"quant_method", "Weight format"}, methods);
  if (method == "fp8") return read_fp8(section);
  if (method == "mxfp4") return Precision::mxfp4;
  const std::array<std::string, 1> algorithms{"FP8"};
  (void)section.word({"quant_algo", "Weight format of NVIDIA ModelOpt"}, algorithms);
  return Precision::fp8;
}

std::string stem(std::string_view file) {
  if (const auto slash = file.rfind('/'); slash != std::string_view::npos)
    file.remove_prefix(slash + 1);
  if (file.ends_with(".json")) file.remove_suffix(5);
  return std::string(file);
}

void read_sizes(Reader& reader, const Family& family, Architecture& model) {
  model.layers = size(reader, {"num_hidden_layers", "Transformer layers"}, layer_range);
  model.hidden_size = size(reader, {"hidden_size", "Width of the residual stream"}, width_range);
  const std::string_view inner = family.opt_style ? "ffn_dim" : "intermediate_size";
  model.intermediate_size = size(reader, {inner, "Inner width of the MLP"}, width_range);
  model.vocab_size = size(reader, {"vocab_size", "Tokens of the vocabulary"}, token_range);
  model.max_position_embeddings = size(
      reader, {"max_position_embeddings", "Longest sequence the model was made for"}, token_range);
}

}  // namespace

Architecture parse_model(const std::string& file, std::string_view json) {
  config::Document document(config::parse_yaml(file, json));
  Reader reader(document);
  reader.allow_unknown();
  const Family family = read_family(reader);

  Architecture model;
  model.name = stem(file);
  model.model_type = family.model_type;
  read_sizes(reader, family, model);
  read_heads(reader, model);
  read_latent_attention(reader, model);
  read_experts(reader, model);
  read_sliding_window(reader, model);
  model.tied_embeddings = reader.boolean(
      {"tie_word_embeddings", "Whether the LM head is the embedding"}, family.tied_embeddings);
  model.qkv_bias = reader.boolean(
      {"attention_bias", "Whether query, key and value projections have biases"}, family.qkv_bias);
  model.qk_norm = family.qk_norm;
  model.linear_bias = family.opt_style;
  model.learned_positions = family.opt_style;
  model.mlp = family.opt_style ? Mlp::plain : Mlp::gated;
  model.dtype = read_dtype(reader);
  model.quantization = read_quantization(reader);
  document.throw_if_errors();
  return model;
}

}  // namespace tokenline::models
