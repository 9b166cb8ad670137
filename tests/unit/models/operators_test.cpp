#include "workloads/models/operators.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace tokenline;
using models::CollectiveOp;
using models::load_model;
using models::operators;
using models::Parallelism;
using models::Precision;

namespace {

/// Elements of the matrices of one GPU: Σ n · k · count of its products, LM head included, with
/// those inside latent attention and experts.
std::int64_t matrix_elements(const models::OperatorList& list) {
  std::int64_t total = list.lm_head.n * list.lm_head.k * list.lm_head.count;
  for (const auto& product : list.gemms) total += product.n * product.k * product.count;
  if (list.mla) {
    const auto& d = list.mla->dims;
    const std::int64_t h = list.mla->hidden_size;
    const std::int64_t q_width = list.mla->q_heads * (d.qk_nope_head_dim + d.qk_rope_head_dim);
    const std::int64_t q = d.q_lora_rank ? *d.q_lora_rank * (h + q_width) : h * q_width;
    const std::int64_t kv =
        h * (d.kv_lora_rank + d.qk_rope_head_dim) +
        d.kv_lora_rank * list.mla->q_heads * (d.qk_nope_head_dim + d.v_head_dim);
    total += list.mla->count * (q + kv + list.mla->q_heads * d.v_head_dim * h);
  }
  if (list.experts) {
    const auto& e = *list.experts;
    total +=
        e.count * (e.experts / e.expert) * 3 * e.hidden_size * (e.intermediate_size / e.tensor);
  }
  return total;
}

/// Every matrix of the model, looked-up tables apart.
std::int64_t matrix_parameters(const models::Architecture& model) {
  const std::int64_t table = model.vocab_size * model.hidden_size;
  const std::int64_t positions =
      model.learned_positions ? (model.max_position_embeddings + 2) * model.hidden_size : 0;
  return model.parameters() - model.vector_parameters() - positions -
         (model.tied_embeddings ? 0 : table);
}

/// Matrices that every GPU of a tensor-parallel group holds whole: routers, and MLA's projections
/// into the latents.
std::int64_t replicated_elements(const models::Architecture& model) {
  std::int64_t total = 0;
  if (model.moe)
    total += (model.layers - model.moe->dense_layers) * model.hidden_size * model.moe->experts;
  if (model.mla)
    total += model.layers * model.hidden_size *
             (model.mla->kv_lora_rank + model.mla->qk_rope_head_dim +
              model.mla->q_lora_rank.value_or(0));
  return total;
}

/// Key and value columns that a group holds beyond one copy: with fewer kv heads than GPUs each
/// GPU has one.
std::int64_t copied_kv_elements(const models::Architecture& model, std::int64_t tensor) {
  if (model.mla) return 0;
  return model.layers * 2 * (std::max(tensor, model.kv_heads) - model.kv_heads) * model.head_dim *
         model.hidden_size;
}

std::int64_t expert_elements(const models::Architecture& model) {
  if (!model.moe) return 0;
  return (model.layers - model.moe->dense_layers) * model.moe->experts * 3 * model.hidden_size *
         model.moe->expert_intermediate_size;
}

const models::Gemm* product_of(const models::OperatorList& list, std::string_view name) {
  const auto found = std::ranges::find(list.gemms, name, &models::Gemm::name);
  return found == list.gemms.end() ? nullptr : &*found;
}

const models::Elementwise* stream_of(const models::OperatorList& list, std::string_view name) {
  const auto found = std::ranges::find(list.elementwise, name, &models::Elementwise::name);
  return found == list.elementwise.end() ? nullptr : &*found;
}

const models::Collective* collective_of(const models::OperatorList& list, CollectiveOp op) {
  const auto found = std::ranges::find(list.collectives, op, &models::Collective::op);
  return found == list.collectives.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("the shards of all GPUs hold every matrix once, routers and latents apart", "[models]") {
  int spread = 0;
  for (const std::string& name : models::model_names()) {
    const auto model = load_model(name);
    for (const std::int64_t tensor : {1, 2, 4, 8, 16}) {
      for (const std::int64_t expert : {1, 2, 4, 8, 16}) {
        const Parallelism parallelism{.tensor = tensor, .expert = expert};
        if (!first_sharding_mistake(model, parallelism).empty()) continue;
        if (model.vocab_size % tensor != 0) continue;  // padded
        INFO(name << " on " << tensor << ", experts spread " << expert << " ways");
        CHECK(tensor * matrix_elements(operators(model, parallelism)) ==
              matrix_parameters(model) + (tensor - 1) * replicated_elements(model) +
                  copied_kv_elements(model, tensor));
        ++spread;
      }
    }
  }
  CHECK(spread > 150);
}

TEST_CASE("groups of a data-parallel replica repeat attention and share the experts", "[models]") {
  const auto* name = GENERATE("deepseek-v3", "mixtral-8x7b", "qwen3-235b-a22b-fp8", "minimax-m2.5");
  const auto model = load_model(name);
  const std::int64_t data = GENERATE(2, 4);
  const std::int64_t expert = GENERATE(1, 4);
  INFO(name << " with " << data << " groups, experts spread " << expert << " ways");
  const Parallelism parallelism{.tensor = 2, .data = data, .expert = expert};
  const std::int64_t group =
      matrix_parameters(model) - expert_elements(model) + replicated_elements(model);
  CHECK(parallelism.gpus() * matrix_elements(operators(model, parallelism)) ==
        data * group + expert_elements(model));
}

TEST_CASE("kv heads are replicated when there are fewer than ranks", "[models]") {
  const auto model = load_model("llama-2-70b");
  const auto list = operators(model, {.tensor = 16});
  CHECK(list.q_heads == 64 / 16);
  CHECK(list.kv_heads == 1);
  CHECK(product_of(list, "qkv_proj")->n == (4 + 2) * 128);
}

TEST_CASE("a vocabulary that ranks do not divide is padded", "[models]") {
  auto model = load_model("llama-2-7b");
  model.vocab_size = 32001;
  CHECK(operators(model, {.tensor = 4}).lm_head.n == 8001);
}

TEST_CASE("two all-reduces per layer carry the residual stream, none on one GPU", "[models]") {
  const auto* name = GENERATE("llama-2-70b", "deepseek-v3", "mixtral-8x7b");
  const auto model = load_model(name);
  CHECK(operators(model, {}).collectives.empty());
  const auto list = operators(model, {.tensor = 8, .expert = model.moe ? 8 : 1});
  REQUIRE(list.collectives.size() == 1);
  CHECK(list.collectives[0].op == CollectiveOp::all_reduce);
  CHECK(list.collectives[0].gpus == 8);
  CHECK(list.collectives[0].count == 2 * model.layers);
  CHECK(list.collectives[0].bytes_per_token.value() ==
        2.0 * static_cast<double>(model.hidden_size));
}

TEST_CASE("layers with experts gather the tokens of all groups and scatter the answers",
          "[models]") {
  const auto model = load_model("deepseek-v3");
  const auto groups = operators(model, {.tensor = 2, .data = 4, .expert = 8});
  const auto* reduce = collective_of(groups, CollectiveOp::all_reduce);
  REQUIRE(reduce != nullptr);
  CHECK(reduce->gpus == 2);
  CHECK(reduce->count == 2 * 61);
  for (const CollectiveOp op : {CollectiveOp::all_gather, CollectiveOp::reduce_scatter}) {
    const auto* moved = collective_of(groups, op);
    REQUIRE(moved != nullptr);
    CHECK(moved->gpus == 4);
    CHECK(moved->count == 61 - 3);
    CHECK(moved->bytes_per_token.value() == 7168 * 2);
  }
  const auto alone = operators(model, {.data = 8, .expert = 8});
  CHECK(collective_of(alone, CollectiveOp::all_reduce) == nullptr);
  CHECK(collective_of(alone, CollectiveOp::all_gather)->gpus == 8);
}

TEST_CASE("DeepSeek-V3 has three dense layers, then a router, a shared and 256 routed experts",
          "[models]") {
  const auto list = operators(load_model("deepseek-v3"), {.tensor = 8, .expert = 2});
  CHECK(product_of(list, "qkv_proj") == nullptr);
  CHECK(product_of(list, "gate_up_proj")->count == 3);
  CHECK(product_of(list, "gate_up_proj")->n == 2 * 18432 / 8);
  CHECK(product_of(list, "router")->n == 256);
  CHECK(product_of(list, "shared_gate_up_proj")->n == 2 * 2048 / 8);
  CHECK(product_of(list, "shared_down_proj")->count == 58);
  REQUIRE(list.experts);
  CHECK(list.experts->count == 58);
  CHECK(list.experts->tensor == 4);
  CHECK(list.experts->expert == 2);
  REQUIRE(list.mla);
  CHECK(list.mla->q_heads == 128 / 8);
  CHECK(list.attention.empty());
}

TEST_CASE("shared experts are one MLP as wide as all of them", "[models]") {
  const auto list = operators(load_model("deepseek-v2-lite"), {});
  CHECK(product_of(list, "shared_down_proj")->k == 2 * 1408);
}

TEST_CASE("every second layer of gpt-oss slides over 128 tokens", "[models]") {
  const auto list = operators(load_model("gpt-oss-120b"), {});
  REQUIRE(list.attention.size() == 2);
  CHECK(list.attention[0].count == 18);
  CHECK(list.attention[0].window == 128);
  CHECK(list.attention[1].count == 18);
  CHECK_FALSE(list.attention[1].window);
}

TEST_CASE("fp8 covers linear layers and experts, never the router or the head", "[models]") {
  const auto list = operators(load_model("deepseek-v3"), {});
  CHECK(list.mla->precision == Precision::fp8_block);
  CHECK(list.experts->precision == Precision::fp8_block);
  CHECK(product_of(list, "down_proj")->precision == Precision::fp8_block);
  CHECK(product_of(list, "router")->precision == Precision::bfloat16);
  CHECK(list.lm_head.precision == Precision::bfloat16);
  CHECK(product_of(operators(load_model("llama-3.1-70b-fp8"), {}), "qkv_proj")->precision ==
        Precision::fp8);
}

TEST_CASE("mxfp4 covers the experts alone", "[models]") {
  const auto list = operators(load_model("gpt-oss-20b"), {});
  CHECK(list.experts->precision == Precision::mxfp4);
  for (const auto& product : list.gemms) CHECK(product.precision == Precision::bfloat16);
}

TEST_CASE("head norms read and write what the rotation does, and latents keep theirs inside",
          "[models]") {
  const auto qwen = operators(load_model("qwen3-32b"), {.tensor = 4});
  const double heads = 2.0 * (64 / 4 + 8 / 4) * 128 * 2;
  CHECK(stream_of(qwen, "rotary")->bytes_per_token.value() == heads);
  CHECK(stream_of(qwen, "qk_norm")->bytes_per_token.value() == heads);
  CHECK(stream_of(operators(load_model("llama-3.1-8b"), {}), "qk_norm") == nullptr);
  CHECK(stream_of(operators(load_model("deepseek-v3"), {}), "rotary") == nullptr);
}

TEST_CASE("activations of routed experts belong to the experts", "[models]") {
  CHECK(stream_of(operators(load_model("mixtral-8x7b"), {}), "activation") == nullptr);
  const auto list = operators(load_model("deepseek-v3"), {.tensor = 8});
  std::int64_t layers = 0;
  for (const auto& stream : list.elementwise)
    if (stream.name == "activation") layers += stream.count;
  CHECK(layers == 61);
}

TEST_CASE("Llama-2-70B at batch 1 moves as many bytes as it computes FLOPs", "[models]") {
  const auto list = operators(load_model("llama-2-70b"), {});
  const double elements = static_cast<double>(matrix_elements(list));
  const double flops = 2.0 * elements;
  const double bytes = 2.0 * elements;
  CHECK(flops / 1e9 == Approx(140).epsilon(0.03));
  CHECK(bytes / 1e9 == Approx(140).epsilon(0.03));
  CHECK(flops / bytes == 1.0);
  // Bytes over the A100's 2 TB/s, and the share of its 312 TFLOP/s in use meanwhile.
  const double seconds = bytes / 2e12;
  CHECK(seconds == Approx(70e-3).epsilon(0.03));
  CHECK(flops / seconds / 312e12 == Approx(0.0064).epsilon(0.01));
}

TEST_CASE("layers are spread over stages as vLLM does", "[models]") {
  using Layers = std::vector<std::int64_t>;
  CHECK(models::stage_layers(80, 1) == Layers{80});
  CHECK(models::stage_layers(80, 4) == Layers{20, 20, 20, 20});
  CHECK(models::stage_layers(61, 2) == Layers{31, 30});
  CHECK(models::stage_layers(61, 4) == Layers{15, 15, 16, 15});
  CHECK(models::stage_layers(7, 4) == Layers{2, 2, 2, 1});
}

TEST_CASE("the stages together compute what one does, and send what lies between", "[models]") {
  const auto name = GENERATE("llama-3.1-70b", "deepseek-v3", "gpt-oss-20b", "opt-13b");
  const auto model = load_model(name);
  const Parallelism whole{.tensor = 4};
  for (const std::int64_t stages : {2, 3, 5}) {
    CAPTURE(name, stages);
    Parallelism split = whole;
    split.pipeline = stages;
    double elements = 0.0;
    double weights = 0.0;
    double kv = 0.0;
    std::int64_t full = 0;
    std::int64_t windows = 0;
    std::int64_t transfers = 0;
    for (std::int64_t i = 0; i < stages; ++i) {
      const models::OperatorList list = operators(model, split, i);
      elements += static_cast<double>(matrix_elements(list));
      weights += models::weight_bytes(model, split, i).value();
      kv += models::kv_bytes_per_token(model, split, 2, i).value();
      for (const models::AttentionLayers& layers : list.attention)
        (layers.window ? windows : full) += layers.count;
      for (const models::Collective& op : list.collectives)
        if (op.op == CollectiveOp::send_recv) {
          ++transfers;
          // Hidden state and residual at 16 bit, a quarter from each of four ranks.
          CHECK(op.bytes_per_token.value() == static_cast<double>(model.hidden_size));
        }
    }
    CHECK(elements == static_cast<double>(matrix_elements(operators(model, whole))));
    CHECK(kv == models::kv_bytes_per_token(model, whole, 2).value());
    CHECK(transfers == stages - 1);
    if (!model.mla) CHECK(full + windows == model.layers);
    CHECK(windows == model.sliding_layers);
    // The final norm is counted in every stage; a tied vocabulary is held at both ends.
    const double vocabulary = model.tied_embeddings
                                  ? models::matrix_bytes(operators(model, whole).lm_head.n,
                                                         model.hidden_size, Precision::bfloat16)
                                        .value()
                                  : 0.0;
    CHECK(weights - vocabulary == Approx(models::weight_bytes(model, whole).value()).epsilon(1e-4));
  }
}
