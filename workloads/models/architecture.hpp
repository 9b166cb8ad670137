#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/quantity.hpp"

namespace tokenline::models {

/// Mixture-of-experts layers: how many, how many experts, how large.
struct MixtureOfExperts {
  std::int64_t experts = 0;
  std::int64_t experts_per_token = 0;
  std::int64_t shared_experts = 0;  ///< Met by every token, each of the size of a routed expert.
  std::int64_t expert_intermediate_size = 0;
  std::int64_t dense_layers = 0;  ///< Layers with a dense MLP instead.
};

/// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1).
struct LatentAttention {
  std::optional<std::int64_t> q_lora_rank;  ///< Absent: queries are projected directly.
  std::int64_t kv_lora_rank = 0;
  std::int64_t qk_nope_head_dim = 0;
  std::int64_t qk_rope_head_dim = 0;
  std::int64_t v_head_dim = 0;
};

/// How weights are stored and multiplied. 16-bit types cost the same; fp8 has one scale per tensor
/// or row, fp8_block one per 128 × 128 block; mxfp4 holds 4 bits and an 8-bit scale per 32 elements
/// (OCP Microscaling Formats v1.0) and is multiplied at 16 bit.
enum class Precision { bfloat16, fp8, fp8_block, mxfp4 };

/// "bfloat16", "fp8", "fp8_block", "mxfp4".
[[nodiscard]] std::string_view name(Precision precision);

/// Of routed experts under `quantization` all precisions are possible; every other linear layer
/// stays at 16 bit under mxfp4, as in the gpt-oss checkpoints (`modules_to_not_convert`) and in
/// vLLM (quantization/mxfp4.py). Embedding, LM head, router and norms are 16 bit always.
[[nodiscard]] Precision linear_precision(Precision quantization);

/// What kind of MLP: gated (SwiGLU: gate, up, down) or plain (up, down; OPT).
enum class Mlp { gated, plain };

/// The fields of a decoder-only transformer that determine compute and memory, as read from a
/// Hugging Face `config.json`.
struct Architecture {
  std::string name;
  std::string model_type;
  std::int64_t layers = 0;
  std::int64_t hidden_size = 0;
  std::int64_t attention_heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t vocab_size = 0;
  std::int64_t max_position_embeddings = 0;
  bool tied_embeddings = false;
  bool learned_positions = false;  ///< OPT: a position embedding table (max positions + 2 rows).
  bool qk_norm = false;            ///< Qwen3: RMSNorm over each query and key head.
  bool qkv_bias = false;           ///< Qwen2, OPT, gpt-oss.
  bool linear_bias = false;        ///< OPT: bias on every projection and in the norms.
  Mlp mlp = Mlp::gated;
  std::optional<MixtureOfExperts> moe;
  std::optional<LatentAttention> mla;
  /// Tokens a sliding-window layer attends to; absent where every layer is full.
  std::optional<std::int64_t> sliding_window;
  std::int64_t sliding_layers = 0;  ///< Layers that use the window.
  std::string dtype;                ///< Of activations and KV: "float16", "bfloat16".
  /// Of the weights of experts, and through linear_precision() of linear layers.
  Precision quantization = Precision::bfloat16;

  /// Every weight, embeddings and LM head included; multi-token-prediction modules are not.
  [[nodiscard]] std::int64_t parameters() const;
  /// Parameters a token meets in a forward pass (MoE: only the experts chosen), embedding lookup
  /// excluded, LM head included.
  [[nodiscard]] std::int64_t active_parameters() const;
  /// The part of active_parameters() that no matrix product uses: norms and biases.
  [[nodiscard]] std::int64_t vector_parameters() const;
  /// Bytes of keys and values (or of MLA's latent) of one token over all layers, unsharded, 16 bit:
  /// 2 · layers · kv_heads · head_dim · 2 B for MHA, MQA and GQA;
  /// layers · (kv_lora_rank + qk_rope_head_dim) · 2 B for MLA.
  [[nodiscard]] Bytes kv_bytes_per_token() const;
  /// What a KV cache holds of a token and layer, unsharded: heads (MLA's latent is one), and values
  /// of each, keys and values together.
  [[nodiscard]] std::int64_t cached_heads() const;
  [[nodiscard]] std::int64_t cached_head_values() const;
};

/// Loads a model: the name of an embedded preset ("llama-2-70b"), or a path to a Hugging Face
/// config.json (recognised by '/' or ".json"). Throws config::ConfigError: an unknown name with a
/// did-you-mean, a missing or contradictory field at its line.
[[nodiscard]] Architecture load_model(const std::string& name_or_path);

/// Parses the text of a config.json; `file` is for messages and, without folders and extension, the
/// model's name. Fields that do not change compute or memory are accepted unread.
[[nodiscard]] Architecture parse_model(const std::string& file, std::string_view json);

/// Names of the embedded presets, sorted.
[[nodiscard]] std::vector<std::string> model_names();

}  // namespace tokenline::models
