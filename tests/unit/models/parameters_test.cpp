#include <catch2/catch.hpp>

#include "workloads/models/architecture.hpp"

using namespace tokenline;
using models::load_model;

TEST_CASE("parameter counts are within 1 % of what the publishers state", "[models]") {
  struct Published {
    const char* name;
    double billions;
  };
  // Model cards and safetensors indices on huggingface.co; DeepSeek-V3: 671 B without its MTP
  // module.
  const auto model = GENERATE(values<Published>({
      {"llama-2-7b", 6.738},      {"llama-2-13b", 13.016},    {"llama-2-70b", 68.98},
      {"llama-3.1-8b", 8.03},     {"llama-3.1-70b", 70.55},   {"llama-3.1-70b-fp8", 70.55},
      {"llama-3.1-405b", 405.85}, {"qwen3-8b", 8.19},         {"qwen3-32b", 32.76},
      {"qwen3-32b-fp8", 32.76},   {"qwen2.5-7b", 7.62},       {"mixtral-8x7b", 46.7},
      {"mixtral-8x22b", 140.6},   {"deepseek-v3", 671.0},     {"deepseek-r1", 671.0},
      {"deepseek-v2-lite", 15.7}, {"qwen3-235b-a22b", 235.1}, {"qwen3-235b-a22b-fp8", 235.1},
      {"qwen3-30b-a3b", 30.5},    {"gpt-oss-20b", 20.9},      {"gpt-oss-120b", 116.8},
      {"kimi-k2", 1030.0},        {"opt-13b", 12.85},         {"yi-34b", 34.4},
      {"codellama-34b", 33.74},   {"mistral-nemo", 12.25},    {"minimax-m2.5", 229.0},
  }));
  INFO(model.name);
  const double counted = static_cast<double>(load_model(model.name).parameters()) / 1e9;
  CHECK(counted == Approx(model.billions).epsilon(0.01));
}

TEST_CASE("the parameters of Llama-2-7B are the sum of its published tensors", "[models]") {
  const std::int64_t h = 4096;
  const std::int64_t inner = 11008;
  const std::int64_t layer = 4 * h * h + 3 * h * inner + 2 * h;
  REQUIRE(load_model("llama-2-7b").parameters() == 2 * 32000 * h + 32 * layer + h);
}

TEST_CASE("a token meets the chosen experts only", "[models]") {
  struct Published {
    const char* name;
    double active_billions;
    double tolerance;  // publishers round, and some leave the embedding or the head out
  };
  const auto model = GENERATE(values<Published>({
      {"mixtral-8x7b", 12.9, 0.02},
      {"deepseek-v3", 37.0, 0.03},
      {"qwen3-235b-a22b", 22.0, 0.03},
      {"gpt-oss-120b", 5.1, 0.03},
      {"kimi-k2", 32.0, 0.04},
  }));
  INFO(model.name);
  const double active = static_cast<double>(load_model(model.name).active_parameters()) / 1e9;
  CHECK(active == Approx(model.active_billions).epsilon(model.tolerance));
}

TEST_CASE("a dense model meets every parameter but the embedding table", "[models]") {
  const auto model = load_model("llama-3.1-8b");
  REQUIRE(model.active_parameters() == model.parameters() - model.vocab_size * model.hidden_size);
}

TEST_CASE("a tied embedding is stored once and still used as the LM head", "[models]") {
  const auto model = load_model("opt-13b");
  REQUIRE(model.tied_embeddings);
  const std::int64_t positions = (model.max_position_embeddings + 2) * model.hidden_size;
  REQUIRE(model.active_parameters() == model.parameters() - positions);
}

TEST_CASE("KV bytes per token are 2 · layers · kv heads · head width · 2 B", "[models]") {
  struct Shape {
    const char* name;
    int layers, kv_heads, head_dim;
  };
  const auto shape = GENERATE(values<Shape>({{"llama-2-7b", 32, 32, 128},
                                             {"llama-2-13b", 40, 40, 128},
                                             {"llama-2-70b", 80, 8, 128},
                                             {"llama-3.1-8b", 32, 8, 128},
                                             {"llama-3.1-405b", 126, 8, 128},
                                             {"qwen2.5-7b", 28, 4, 128},
                                             {"qwen3-235b-a22b", 94, 4, 128},
                                             {"gpt-oss-120b", 36, 8, 64},
                                             {"mistral-nemo", 40, 8, 128},
                                             {"opt-13b", 40, 40, 128}}));
  INFO(shape.name);
  CHECK(load_model(shape.name).kv_bytes_per_token().value() ==
        2.0 * shape.layers * shape.kv_heads * shape.head_dim * 2.0);
}

TEST_CASE("latent attention keeps 512 + 64 values per token and layer", "[models]") {
  REQUIRE(load_model("deepseek-v3").kv_bytes_per_token().value() == 61 * (512 + 64) * 2);
  REQUIRE(load_model("kimi-k2").kv_bytes_per_token().value() == 61 * (512 + 64) * 2);
  REQUIRE(load_model("deepseek-v2-lite").kv_bytes_per_token().value() == 27 * (512 + 64) * 2);
}

TEST_CASE("grouped queries cut KV by the group, latents by more than nine tenths", "[models]") {
  auto grouped = load_model("llama-2-70b");
  auto full = grouped;
  full.kv_heads = full.attention_heads;
  CHECK(full.kv_bytes_per_token() / grouped.kv_bytes_per_token() == 8.0);

  auto latent = load_model("deepseek-v3");
  const double mha = 2.0 * 61 * 128 * (128 + 64) * 2;
  CHECK(latent.kv_bytes_per_token().value() < 0.1 * mha);
}
