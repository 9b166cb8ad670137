#include "hwmodels/step_roofline.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "hwmodels/kernels/gemm.hpp"
#include "tests/unit/hwmodels/builders.hpp"

using namespace tokenline;
using namespace tokenline::hw;

namespace {

StepSetup setup(const std::string& model, const Gpu& gpu, std::int64_t tensor = 1) {
  StepSetup setup;
  setup.model = models::load_model(model);
  setup.gpu = gpu;
  setup.parallelism.tensor = tensor;
  setup.prefill_kernel = usual_prefill(gpu.generation);
  setup.max_tokens = 1024;
  setup.max_sequences = 64;
  return setup;
}

StepShape decodes(std::int64_t sequences, std::int64_t context) {
  return {.decode_sequences = sequences,
          .decode_context = sequences * context,
          .chunks = {},
          .sampled = sequences};
}

/// The rows of a breakdown added up as price() does: what depends on tokens, then what depends on
/// sampled tokens, then merges, each from zero, then attention one by one.
Price added(const std::vector<OperatorPrice>& rows) {
  const auto head = std::ranges::find(rows, "lm_head", &OperatorPrice::name);
  REQUIRE(head != rows.end());
  Price total;
  for (auto row = rows.begin(); row != head; ++row) total += row->price;
  Price sampled;
  for (auto row = head; row != head + 2; ++row) sampled += row->price;
  total += sampled;
  auto row = head + 2;
  Price merges;
  for (; row != rows.end() && row->kind == OperatorKind::collective; ++row) merges += row->price;
  total += merges;
  for (; row != rows.end(); ++row) total += row->price;
  return total;
}

void check_equal(const Price& a, const Price& b) {
  CHECK(a.time == b.time);
  CHECK(a.flops == b.flops);
  CHECK(a.bytes == b.bytes);
  CHECK(a.error == b.error);
  CHECK(a.off_grid.by_kind == b.off_grid.by_kind);
}

}  // namespace

TEST_CASE("the operators of a step add up to its price, to the last bit", "[hwmodels]") {
  // Dense, experts, latent attention, sliding windows; datasheet and calibrated.
  const auto* model = GENERATE("llama-2-70b", "qwen3-30b-a3b", "deepseek-v2-lite", "gpt-oss-20b");
  const auto* gpu = GENERATE("h100_sxm", "a100_sxm_80gb");
  StepSetup s = setup(model, load_gpu(gpu), 2);
  if (s.model.mla) s.parallelism.tensor = 1;
  s.error_band = GENERATE(0.0, 1.0);
  const StepCost cost(s);
  const std::vector<Chunk> chunks{{500, 0}, {300, 1000}};
  const StepShape prefill{.chunks = chunks, .sampled = 2};
  StepShape mixed = decodes(5, 900);
  mixed.chunks = chunks;
  mixed.sampled = 7;
  StepShape verifying = decodes(4, 900);
  verifying.decode_queries = 4;
  verifying.sampled = 16;
  for (const StepShape& shape : {decodes(1, 1), decodes(33, 2000), prefill, mixed, verifying})
    check_equal(added(cost.breakdown(shape)), cost.price(shape));
}

TEST_CASE("merges of context ranks are rows of their own", "[hwmodels]") {
  StepSetup s = setup("llama-3.1-8b", load_gpu("h100_sxm"));
  s.parallelism.context = 2;
  const StepCost cost(s);
  check_equal(added(cost.breakdown(decodes(8, 3000))), cost.price(decodes(8, 3000)));
  const std::vector<Chunk> chunks{{500, 100}};
  const StepShape prefill{.chunks = chunks, .sampled = 1};
  check_equal(added(cost.breakdown(prefill)), cost.price(prefill));
}

TEST_CASE("a step without work has no operators", "[hwmodels]") {
  CHECK(StepCost(setup("llama-2-7b", load_gpu("a100_sxm_80gb"))).breakdown({}).empty());
}

TEST_CASE("rows of one name merge into their sum", "[hwmodels]") {
  const StepCost cost(setup("llama-2-7b", load_gpu("h100_sxm")));
  const std::vector<Chunk> chunks{{500, 0}, {300, 1000}};
  const auto rows = cost.breakdown({.chunks = chunks, .sampled = 2});
  const auto all = merged(rows);
  CHECK(all.size() == rows.size() - 1);
  CHECK(all.back().name == "prefill_attention");
  CHECK(all.back().count == 2 * 32);
  const Price& first = rows[rows.size() - 2].price;
  CHECK(all.back().price.time == first.time + rows.back().price.time);
}

TEST_CASE("ridges are peak over bandwidth: 153 FLOPs per byte on A100, 295 on H100", "[hwmodels]") {
  const Gpu a100 = load_gpu("a100_sxm_80gb");
  const Gpu h100 = load_gpu("h100_sxm");
  CHECK(ridge(a100, a100.peak_16bit).value() == Approx(312e12 / 2039e9));
  CHECK(ridge(h100, h100.peak_16bit).value() == Approx(989e12 / 3350e9).epsilon(0.001));
}

TEST_CASE("an operator at the ridge is bound by compute, below it by memory", "[hwmodels]") {
  const Datasheet sheet = round_sheet();
  OperatorPrice row;
  row.price.flops = Flops(100e6);
  row.price.bytes = Bytes(1e6);
  row.peak = sheet.peak_16bit;
  CHECK(bound(sheet, row) == Bound::compute);
  CHECK(datasheet_time(sheet, row).value() == Approx(1e-6));
  row.price.bytes = Bytes(2e6);
  CHECK(bound(sheet, row) == Bound::memory);
  CHECK(datasheet_time(sheet, row).value() == Approx(2e-6));
  row.kind = OperatorKind::collective;
  CHECK(bound(sheet, row) == Bound::network);
}

TEST_CASE("one token of Llama-2-70B does one FLOP per byte of weights", "[hwmodels]") {
  const Gpu a100 = load_gpu("a100_sxm_80gb");
  const StepCost cost(setup("llama-2-70b", a100));
  const DecodeArithmetic one = decode_arithmetic(cost, 1);
  // 80 layers of q and o (8192 × 8192), k and v (8192 × 1024), gate, up, down (8192 × 28672), and
  // the LM head over 32000 words.
  const double weights = 80.0 * 8192.0 * (2.0 * 8192 + 2.0 * 1024 + 3.0 * 28672) + 32000.0 * 8192.0;
  CHECK(one.flops_per_token.value() == 2.0 * weights);
  CHECK(one.weights.value() == 2.0 * weights);
  CHECK(one.weights == one.all_weights);
  CHECK(weights == Approx(70e9).epsilon(0.025));
  CHECK((one.flops_per_token / one.weights).value() == 1.0);
  const Seconds least = one.weights / a100.bandwidth;
  CHECK(least.value() == Approx(0.070).epsilon(0.05));
  CHECK(one.flops_per_token / least / a100.peak_16bit == Approx(0.0064).epsilon(0.03));
}

TEST_CASE("KV of a sequence, where it equals the weights, and the limit it sets", "[hwmodels]") {
  const StepCost cost(setup("llama-2-70b", load_gpu("h100_sxm"), 8));
  const DecodeArithmetic some = decode_arithmetic(cost, 2000);
  CHECK(some.kv.value() == 2000.0 * 80 * 2 * 1 * 128 * 2);
  CHECK(some.attention.value() == 2000.0 * 80 * 4 * 8 * 128);
  CHECK(some.kv_equals_weights == Approx(some.weights / some.kv));
  // Priced, the intensity grows with the batch and stays below.
  double last = 0.0;
  for (const std::int64_t batch : {1, 8, 64}) {
    const Price price = cost.price(decodes(batch, 2000));
    const double intensity = (price.flops / price.bytes).value();
    CHECK(intensity > last);
    CHECK(intensity < some.limit.value());
    last = intensity;
  }
  const double room = (cost.setup().gpu.memory - cost.weights()).value();
  CHECK(static_cast<double>(some.fitting) <= room / some.kv.value());
  CHECK(static_cast<double>(some.fitting + 1) > room / some.kv.value());
  CHECK(decode_arithmetic(StepCost(setup("llama-2-70b", load_gpu("h100_sxm"))), 1).fitting == 0);
}

TEST_CASE("layers with a window read no more than the window", "[hwmodels]") {
  const StepCost cost(setup("gpt-oss-20b", load_gpu("h100_sxm")));
  const DecodeArithmetic far = decode_arithmetic(cost, 10'000);
  CHECK(far.kv.value() == (12.0 * 10'000 + 12.0 * 128) * 2 * 8 * 64 * 2);
}

TEST_CASE("the knee in closed form is the first batch at which products reach the ridge",
          "[hwmodels]") {
  const Gpu gpu = round_gpu(ideal_fit());
  const StepSetup s = setup("llama-2-7b", gpu);
  const models::OperatorList list = models::operators(s.model, s.parallelism);
  const Knee knee = product_knee(s, list);
  REQUIRE(knee.closed_form);
  const auto intensity_over_ridge = [&](std::int64_t m) {
    Flops flops;
    Bytes bytes;
    std::vector<models::Gemm> all = list.gemms;
    all.push_back(list.lm_head);
    for (const models::Gemm& op : all) {
      flops += static_cast<double>(op.count) * gemm_terms(gpu, {m, op.n, op.k, op.precision}).flops;
      bytes += static_cast<double>(op.count) * gemm_bytes({m, op.n, op.k, op.precision});
    }
    return (flops / bytes) / ridge(gpu, gpu.peak_16bit);
  };
  const auto first = static_cast<std::int64_t>(std::ceil(*knee.closed_form));
  CHECK(intensity_over_ridge(first) >= 1.0);
  CHECK(intensity_over_ridge(first - 1) < 1.0);
  // A product of n × k alone: m·(2nk − R(k·2 + n·2)) = R·2·nk, near R for wide ones.
  CHECK(*knee.closed_form > 100.0);
  CHECK(*knee.closed_form < 110.0);
}

TEST_CASE("a GPU without launches, tiles or efficiencies has its priced knee at the closed form",
          "[hwmodels]") {
  // Tiles of 64 rows and waves round the times of 8192 tokens up by less than a tenth.
  const StepSetup s = setup("llama-2-7b", round_gpu(ideal_fit()));
  const Knee knee = product_knee(s, models::operators(s.model, s.parallelism));
  CHECK(knee.priced == Approx(*knee.closed_form).epsilon(0.1));
}

TEST_CASE("narrow weights halve the knee at one peak, and keep it where the peak doubles",
          "[hwmodels]") {
  Gpu gpu = round_gpu(ideal_fit());
  StepSetup s = setup("llama-2-70b", gpu);
  const auto knee = [&] {
    return *product_knee(s, models::operators(s.model, s.parallelism)).closed_form;
  };
  const double wide = knee();
  s.model.quantization = models::Precision::fp8;
  CHECK(knee() == Approx(wide).epsilon(0.03));
  s.gpu.peak_8bit = s.gpu.peak_16bit;
  CHECK(knee() == Approx(0.5 * wide).epsilon(0.03));
}

TEST_CASE("where a token's activations outweigh its FLOPs no batch is compute bound",
          "[hwmodels]") {
  Gpu gpu = round_gpu(ideal_fit());
  gpu.bandwidth = BytesPerSecond(1e9);
  const StepSetup s = setup("llama-2-7b", gpu);
  const Knee knee = product_knee(s, models::operators(s.model, s.parallelism));
  CHECK_FALSE(knee.closed_form);
  CHECK_FALSE(knee.priced);
}

TEST_CASE("experts are compute bound experts over experts per token times later", "[hwmodels]") {
  const StepSetup s = setup("qwen3-30b-a3b", round_gpu(ideal_fit()));
  const models::OperatorList list = models::operators(s.model, s.parallelism);
  const double h = 2048;
  const double i = 768;
  // Rows per expert: 3hi·2 B / bandwidth over 6hi / peak − (3h + 5i)·2 B / bandwidth.
  const double rows = 6.0 * h * i / (6.0 * h * i / 100.0 - 2.0 * (3.0 * h + 5.0 * i));
  CHECK(*expert_knee(s, list) == Approx(128.0 / 8.0 * rows));
}
