#include <catch2/catch.hpp>

#include "sim/config/diagnostic.hpp"
#include "workloads/models/architecture.hpp"

using namespace tokenline;
using Catch::Contains;
using models::parse_model;
using models::Precision;

namespace {

/// A small valid config.json with `fields` (each starting with a comma) on its second line.
std::string config_with(const std::string& fields, const std::string& type = "llama") {
  return R"({"model_type": ")" + type +
         R"(", "hidden_size": 64, "num_hidden_layers": 4, "vocab_size": 100,)"
         "\n"
         R"("intermediate_size": 128, "ffn_dim": 256, "max_position_embeddings": 32)" +
         fields + "}";
}

models::Architecture read(const std::string& fields, const std::string& type = "llama") {
  return parse_model("dir/tiny.json", config_with(fields, type));
}

const std::string heads = R"(, "num_attention_heads": 8)";

}  // namespace

TEST_CASE("a model is named after its file", "[models]") { CHECK(read(heads).name == "tiny"); }

TEST_CASE("absent kv heads are as many as heads, an absent head width is hidden / heads",
          "[models]") {
  const auto model = read(heads);
  CHECK(model.kv_heads == 8);
  CHECK(model.head_dim == 64 / 8);
  CHECK(read(heads + R"(, "head_dim": 32)").head_dim == 32);
  CHECK(read(heads + R"(, "num_key_value_heads": 2)").kv_heads == 2);
}

TEST_CASE("absent embeddings tying follows the model's class", "[models]") {
  CHECK_FALSE(read(heads).tied_embeddings);
  CHECK(read(heads, "opt").tied_embeddings);
  CHECK(read(heads + R"(, "tie_word_embeddings": true)").tied_embeddings);
}

TEST_CASE("experts are found under each of their names", "[models]") {
  const auto* name = GENERATE("num_local_experts", "n_routed_experts", "num_experts");
  const auto model =
      read(heads + R"(, "num_experts_per_tok": 2, ")" + name + R"(": 16)", "mixtral");
  REQUIRE(model.moe);
  CHECK(model.moe->experts == 16);
  CHECK(model.moe->expert_intermediate_size == 128);
  CHECK(model.moe->dense_layers == 0);
}

TEST_CASE("dense layers of a mixture are counted from each way to name them", "[models]") {
  const std::string moe = heads + R"(, "num_experts": 16, "num_experts_per_tok": 2)";
  CHECK(read(moe + R"(, "first_k_dense_replace": 3)").moe->dense_layers == 3);
  CHECK(read(moe + R"(, "decoder_sparse_step": 2)").moe->dense_layers == 2);
  CHECK(read(moe + R"(, "mlp_only_layers": [0, 3])").moe->dense_layers == 2);
  CHECK(read(moe + R"(, "moe_layer_freq": 4)").moe->dense_layers == 3);
}

TEST_CASE("a sliding window applies where the layers or the model's class say so", "[models]") {
  const std::string window = heads + R"(, "sliding_window": 16)";
  CHECK(read(window).sliding_layers == 4);
  CHECK(read(heads + R"(, "sliding_window": null)").sliding_layers == 0);
  CHECK_FALSE(read(window + R"(, "use_sliding_window": false)").sliding_window);
  const auto mixed = read(window + R"(, "layer_types": ["sliding_attention", "full_attention",
                                       "full_attention", "full_attention"])");
  CHECK(mixed.sliding_layers == 1);
  CHECK(mixed.sliding_window == 16);
}

TEST_CASE("the quantisation method is read, ModelOpt's by its algorithm", "[models]") {
  const auto precision = [](const std::string& fields) {
    return read(heads + R"(, "quantization_config": {)" + fields + "}").quantization;
  };
  CHECK(read(heads).quantization == Precision::bfloat16);
  CHECK(precision(R"("quant_method": "mxfp4")") == Precision::mxfp4);
  CHECK(precision(R"("quant_method": "fp8")") == Precision::fp8);
  CHECK(precision(R"("quant_method": "fp8", "weight_block_size": [128, 128])") ==
        Precision::fp8_block);
  CHECK(precision(R"("quant_method": "modelopt", "quant_algo": "FP8")") == Precision::fp8);
}

TEST_CASE("precisions have the names that scenarios and engines use", "[models]") {
  CHECK(models::name(Precision::bfloat16) == "bfloat16");
  CHECK(models::name(Precision::fp8) == "fp8");
  CHECK(models::name(Precision::fp8_block) == "fp8_block");
  CHECK(models::name(Precision::mxfp4) == "mxfp4");
}

TEST_CASE("presets carry the quantisation of their checkpoints", "[models]") {
  const auto* blocks = GENERATE("deepseek-v3", "deepseek-r1", "kimi-k2", "minimax-m2.5",
                                "qwen3-32b-fp8", "qwen3-235b-a22b-fp8");
  CHECK(models::load_model(blocks).quantization == Precision::fp8_block);
  CHECK(models::load_model("llama-3.1-70b-fp8").quantization == Precision::fp8);
  CHECK(models::load_model("gpt-oss-120b").quantization == Precision::mxfp4);
  CHECK(models::load_model("qwen3-32b").quantization == Precision::bfloat16);
}

TEST_CASE("every shipped preset is read and keeps its name", "[models]") {
  const auto names = models::model_names();
  CHECK(names.size() >= 27);
  CHECK(std::is_sorted(names.begin(), names.end()));
  for (const auto& name : names) {
    INFO(name);
    CHECK(models::load_model(name).name == name);
  }
}

TEST_CASE("contradictions are reported at their line", "[models]") {
  struct Bad {
    std::string fields;
    const char* message;
  };
  const auto bad = GENERATE(values<Bad>({
      {R"(, "num_attention_heads": 8, "num_key_value_heads": 3)",
       "num_key_value_heads: 3 key-value heads do not divide 8 attention heads"},
      {R"(, "num_attention_heads": 7)",
       "num_attention_heads: 7 heads do not divide hidden_size 64"},
      {R"(, "num_attention_heads": 0)", "num_attention_heads: 0 is out of range"},
      {R"(, "num_attention_heads": -8)", "num_attention_heads: -8 is out of range"},
      {R"(, "num_attention_heads": 8, "num_experts": 4, "num_experts_per_tok": 5)",
       "num_experts_per_tok: 5 experts per token of 4 experts"},
      {R"(, "num_attention_heads": 8, "layer_types": ["full_attention"], "sliding_window": 8)",
       "layer_types: 1 entries for 4 layers"},
      {R"(, "num_attention_heads": 8, "torch_dtype": "float32")", "torch_dtype: "},
      {R"(, "num_attention_heads": 8,
            "quantization_config": {"quant_method": "fp8", "weight_block_size": [64, 64]})",
       "weight_block_size: blocks other than [128, 128] are not modelled"},
  }));
  INFO(bad.fields);
  CHECK_THROWS_WITH(read(bad.fields), Contains("dir/tiny.json:") && Contains(bad.message));
}

TEST_CASE("latent attention needs all its widths", "[models]") {
  CHECK_THROWS_WITH(
      read(heads + R"(, "kv_lora_rank": 32)", "deepseek_v3"),
      Contains("qk_nope_head_dim") && Contains("qk_rope_head_dim") && Contains("v_head_dim"));
}

TEST_CASE("zero layers and unknown families are refused", "[models]") {
  CHECK_THROWS_WITH(
      parse_model("m.json", R"({"model_type": "lama", "num_hidden_layers": 0, "hidden_size": 64,
                  "intermediate_size": 64, "vocab_size": 10, "max_position_embeddings": 8,
                  "num_attention_heads": 8})"),
      Contains("did you mean 'llama'?") && Contains("num_hidden_layers"));
}

TEST_CASE("an unknown model name gets a suggestion", "[models]") {
  CHECK_THROWS_WITH(models::load_model("llama-2-70"), Contains("did you mean 'llama-2-70b'?"));
}

TEST_CASE("what a mistaken size would contradict is not reported besides", "[models]") {
  const auto report = [](const std::string& fields) -> std::string {
    try {
      (void)read(fields);
    } catch (const config::ConfigError& error) {
      return error.what();
    }
    return {};
  };
  CHECK_THAT(report(R"(, "num_attention_heads": "8", "num_key_value_heads": 8)"),
             Contains("num_attention_heads: expected an integer") && !Contains("do not divide"));
  CHECK_THAT(report(heads + R"(, "num_experts": "16", "num_experts_per_tok": 2)"),
             Contains("num_experts: expected an integer") && !Contains("experts per token"));
}
