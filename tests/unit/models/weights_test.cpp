#include <catch2/catch.hpp>

#include "workloads/models/operators.hpp"

using namespace tokenline;
using models::load_model;
using models::Parallelism;
using models::Precision;
using models::weight_bytes;

TEST_CASE("a matrix of blocks carries an fp32 scale for each 128 by 128 begun", "[models]") {
  CHECK(matrix_bytes(256, 512, Precision::bfloat16).value() == 256 * 512 * 2);
  CHECK(matrix_bytes(256, 512, Precision::fp8).value() == 256 * 512);
  CHECK(matrix_bytes(256, 512, Precision::fp8_block).value() == 256 * 512 + 2 * 4 * 4);
  CHECK(matrix_bytes(192, 512, Precision::fp8_block).value() == 192 * 512 + 2 * 4 * 4);
  // 4 bits and an 8-bit scale for 32 elements.
  CHECK(matrix_bytes(256, 512, Precision::mxfp4).value() == 256 * 512 / 2 + 256 * 512 / 32);
}

TEST_CASE("16-bit weights on one GPU are two bytes for every parameter", "[models]") {
  for (const std::string& name : models::model_names()) {
    auto model = load_model(name);
    model.quantization = Precision::bfloat16;
    INFO(name);
    CHECK(weight_bytes(model, {}).value() == 2.0 * static_cast<double>(model.parameters()));
  }
}

TEST_CASE("an fp8 model stores one byte for what is linear and two for the rest", "[models]") {
  const auto model = load_model("llama-3.1-70b-fp8");
  const std::int64_t h = 8192;
  const double whole = static_cast<double>(model.parameters());
  const double rest = static_cast<double>(2 * model.vocab_size * h + model.vector_parameters());
  CHECK(weight_bytes(model, {}).value() == whole + rest);
}

TEST_CASE("DeepSeek-V3 takes 671 GB, a little over an eighth of it on each of eight GPUs",
          "[models]") {
  const auto model = load_model("deepseek-v3");
  // 671.0 B parameters, of which 1.85 B of embedding and head take a second byte.
  CHECK(weight_bytes(model, {}).value() == Approx(671e9 + 1.9e9).epsilon(0.002));
  for (const std::int64_t expert : {1, 2, 4, 8}) {
    INFO(expert);
    const double rank = weight_bytes(model, {.tensor = 8, .expert = expert}).value();
    // What a vLLM worker of eight reports to have loaded (HabanaAI/vllm-fork issue 809).
    CHECK(rank / 0x1p30 == Approx(79.41).epsilon(0.005));
  }
}

TEST_CASE("groups of eight data-parallel GPUs hold attention whole", "[models]") {
  const auto model = load_model("deepseek-v3");
  const Bytes tensor = weight_bytes(model, {.tensor = 8, .expert = 8});
  const Bytes data = weight_bytes(model, {.data = 8, .expert = 8});
  // Seven eighths of what tensor parallelism shards: attention 128 heads wide, dense MLPs, shared
  // experts, embedding and head.
  const double attention = 61.0 * (1536.0 * 128 * 192 + 512.0 * 128 * 256 + 128.0 * 128 * 7168);
  const double mlps = 3.0 * 3 * 7168 * 18432 + 58.0 * 3 * 7168 * 2048;
  const double vocabulary = 2.0 * 2 * 129280 * 7168;
  CHECK((data - tensor).value() ==
        Approx(7.0 / 8.0 * (attention + mlps + vocabulary)).epsilon(0.001));
}

TEST_CASE("gpt-oss-120b fits a GPU of 80 GB: experts at 4.25 bits, the rest at 16", "[models]") {
  const auto model = load_model("gpt-oss-120b");
  const double experts = 36.0 * 128 * 3 * 2880 * 2880;
  const double rest = static_cast<double>(model.parameters()) - experts;
  CHECK(weight_bytes(model, {}).value() == experts * 17 / 32 + 2 * rest);
  CHECK(weight_bytes(model, {}).value() == Approx(65.3e9).epsilon(0.01));
}

TEST_CASE("the KV of a token is that of its heads, halved by fp8", "[models]") {
  struct Known {
    const char* name;
    double bytes;
  };
  const auto known = GENERATE(values<Known>({{"llama-2-70b", 320 * 1024},
                                             {"llama-3.1-8b", 131'072},
                                             {"qwen2.5-7b", 57'344},
                                             {"deepseek-v3", 576 * 2 * 61}}));
  INFO(known.name);
  const auto model = load_model(known.name);
  CHECK(kv_bytes_per_token(model, {}, 2).value() == known.bytes);
  CHECK(kv_bytes_per_token(model, {}, 1).value() == known.bytes / 2);
  CHECK(kv_bytes_per_token(model, {}, 2) == model.kv_bytes_per_token());
}

TEST_CASE("kv heads are shared out, to one head at least, and latents are not", "[models]") {
  const auto grouped = load_model("llama-2-70b");
  CHECK(kv_bytes_per_token(grouped, {.tensor = 8}, 2).value() == 40 * 1024);
  CHECK(kv_bytes_per_token(grouped, {.tensor = 16}, 2).value() == 40 * 1024);
  const auto latent = load_model("deepseek-v3");
  CHECK(kv_bytes_per_token(latent, {.tensor = 8}, 2).value() == 576 * 2 * 61);
}
