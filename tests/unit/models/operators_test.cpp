#include "workloads/models/operators.hpp"

#include <catch2/catch.hpp>

using namespace tokenline;
using models::load_model;
using models::operators;

namespace {

/// Weights of all matrix products of one rank: Σ n · k · count, LM head included.
std::int64_t matrix_elements(const models::OperatorList& list) {
  std::int64_t total = list.lm_head.n * list.lm_head.k;
  for (const auto& product : list.gemms) total += product.n * product.k * product.count;
  return total;
}

std::int64_t matrix_parameters(const models::Architecture& model) {
  return model.active_parameters() - model.vector_parameters();
}

}  // namespace

TEST_CASE("the products of all ranks hold every matrix once", "[models]") {
  const auto* name = GENERATE("llama-2-7b", "llama-2-70b", "llama-3.1-8b", "opt-13b", "yi-34b",
                              "qwen3-32b", "mistral-nemo");
  const auto model = load_model(name);
  const std::int64_t ranks = GENERATE(1, 2, 4, 8);
  INFO(name << " on " << ranks);
  CHECK(ranks * matrix_elements(operators(model, ranks)) == matrix_parameters(model));
}

TEST_CASE("kv heads are replicated when there are fewer than ranks", "[models]") {
  const auto model = load_model("llama-2-70b");
  const auto list = operators(model, 16);
  CHECK(list.q_heads == 64 / 16);
  CHECK(list.kv_heads == 1);
  const std::int64_t copies = 2 * (16 - 8) * model.head_dim * model.hidden_size * model.layers;
  CHECK(16 * matrix_elements(list) == matrix_parameters(model) + copies);
}

TEST_CASE("a vocabulary that ranks do not divide is padded", "[models]") {
  auto model = load_model("llama-2-7b");
  model.vocab_size = 32001;
  CHECK(operators(model, 4).lm_head.n == 8001);
}

TEST_CASE("two all-reduces per layer carry the residual stream, none on one GPU", "[models]") {
  const auto model = load_model("llama-2-70b");
  CHECK(operators(model, 1).all_reduces == 0);
  const auto list = operators(model, 8);
  CHECK(list.all_reduces == 2 * 80);
  CHECK(list.all_reduce_bytes_per_token.value() == 8192 * 2);
}

TEST_CASE("Llama-2-70B at batch 1 moves as many bytes as it computes FLOPs", "[models]") {
  const auto list = operators(load_model("llama-2-70b"), 1);
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
