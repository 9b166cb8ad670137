#include "calib/reference/attention.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "hwmodels/kernels/attention.hpp"
#include "sim/base/check.hpp"

using namespace tokenline;
using namespace tokenline::reference;

namespace {

constexpr double masked = -std::numeric_limits<double>::infinity();

AttentionProblem random_problem(std::int64_t queries, std::int64_t keys, std::int64_t width,
                                bool causal, double scale = 1.0) {
  return {.q = random_matrix(queries, width, scale, 7, 0),
          .k = random_matrix(keys, width, scale, 7, 1),
          .v = random_matrix(keys, width, 1.0, 7, 2),
          .causal = causal,
          .bias = {}};
}

/// The largest difference of any Flash algorithm from standard attention.
double difference(const AttentionProblem& problem, const AttentionBlocks& blocks,
                  std::int64_t part_keys) {
  const Matrix o = standard_attention(problem).o;
  return std::max({largest_difference(flash_attention_1(problem, blocks).o, o),
                   largest_difference(flash_attention_2(problem, blocks).o, o),
                   largest_difference(flash_decoding(problem, blocks, part_keys).o, o)});
}

/// softmax(scores) · v, from the definition.
std::vector<double> by_definition(const std::vector<double>& scores, const Matrix& v) {
  std::vector<double> o(static_cast<std::size_t>(v.columns()));
  double sum = 0.0;
  for (const double score : scores) sum += std::exp(score);
  for (std::size_t j = 0; j < scores.size(); ++j)
    for (std::size_t c = 0; c < o.size(); ++c)
      o[c] += std::exp(scores[j]) / sum * v.row(static_cast<std::int64_t>(j))[c];
  return o;
}

}  // namespace

TEST_CASE("standard attention is softmax of the scaled products times the values", "[attention]") {
  const bool causal = GENERATE(false, true);
  const AttentionProblem problem = random_problem(3, 5, 4, causal);
  const Matrix o = standard_attention(problem).o;
  for (std::int64_t i = 0; i < 3; ++i) {
    std::vector<double> scores;
    for (std::int64_t j = 0; j < (causal ? i + 3 : 5); ++j) {
      double product = 0.0;
      for (std::size_t c = 0; c < 4; ++c) product += problem.q.row(i)[c] * problem.k.row(j)[c];
      scores.push_back(product / 2.0);
    }
    const std::vector<double> expected = by_definition(scores, problem.v);
    for (std::size_t c = 0; c < 4; ++c) CHECK(o.row(i)[c] == Approx(expected[c]).margin(1e-15));
  }
}

TEST_CASE("tiled attention equals the standard one to 1e-12, blocks dividing sizes or not",
          "[attention]") {
  for (const bool causal : {false, true}) {
    CHECK(difference(random_problem(256, 256, 64, causal), {64, 64}, 256) < 1e-12);
    for (const std::int64_t queries : {1, 2, 63, 70})
      for (const std::int64_t keys : {1, 5, 64, 101})
        for (const AttentionBlocks blocks : {AttentionBlocks{1, 1}, {7, 16}, {64, 64}, {200, 3}}) {
          INFO(queries << " x " << keys << " in " << blocks.queries << " x " << blocks.keys);
          CHECK(difference(random_problem(queries, keys, 8, causal), blocks, 40) < 1e-12);
        }
  }
  CHECK(difference(random_problem(33, 40, 1, true), {8, 8}, 9) < 1e-12);
}

TEST_CASE("scores that only a subtracted maximum keeps finite change nothing", "[attention]") {
  // Scores of a hundred thousand: e^score overflows from 710 on.
  for (const double scale : {30.0, 300.0, 1e-8}) {
    const AttentionProblem problem = random_problem(50, 77, 16, GENERATE(false, true), scale);
    INFO(scale);
    CHECK(difference(problem, {16, 8}, 24) < 1e-12);
  }
}

TEST_CASE("masks of any pattern, and rows that see nothing", "[attention]") {
  AttentionProblem problem = random_problem(40, 50, 8, GENERATE(false, true));
  problem.bias = random_matrix(40, 50, 2.0, 7, 3);
  const Matrix dice = random_matrix(40, 50, 1.0, 7, 4);
  for (std::int64_t i = 0; i < 40; ++i)
    for (std::size_t j = 0; j < 50; ++j)
      // Row 5 sees nothing, row 6 only its first key, row 7 nothing in its first two blocks.
      if (i == 5 || (i == 6 && j > 0) || (i == 7 && j < 16) || dice.row(i)[j] > 0.5)
        if (i != 6 || j > 0) problem.bias->row(i)[j] = masked;
  CHECK(difference(problem, {16, 8}, 24) < 1e-12);
  const Matrix o = flash_attention_2(problem, {16, 8}).o;
  for (const double value : o.row(5)) CHECK(value == 0.0);
  for (std::size_t c = 0; c < 8; ++c)
    CHECK(flash_attention_1(problem, {16, 8}).o.row(6)[c] == problem.v.row(0)[c]);
}

TEST_CASE("under a causal mask the first of more queries than keys see nothing", "[attention]") {
  const AttentionProblem problem = random_problem(20, 12, 8, true);
  CHECK(difference(problem, {6, 5}, 5) < 1e-12);
  const Matrix o = flash_attention_2(problem, {6, 5}).o;
  for (const double value : o.row(7)) CHECK(value == 0.0);
  for (std::size_t c = 0; c < 8; ++c) CHECK(o.row(8)[c] == problem.v.row(0)[c]);
}

TEST_CASE("the second kernel of FlashDecoding merges any cut into parts", "[attention]") {
  const AttentionProblem problem = random_problem(1, 1000, 32, false);
  const Matrix whole = standard_attention(problem).o;
  for (const std::int64_t part : {1, 13, 256, 999, 1000, 5000})
    CHECK(largest_difference(flash_decoding(problem, {1, 64}, part).o, whole) < 1e-12);
}

TEST_CASE("the online softmax of [2, 4] and [3, 5] is that of all four", "[attention]") {
  const Matrix v(2, 1);
  PartialSoftmax a(1);
  PartialSoftmax b(1);
  a.add(std::vector{2.0, 4.0}, v, 0);
  b.add(std::vector{3.0, 5.0}, v, 0);
  CHECK(a.sum == Approx(1.1353).epsilon(1e-4));
  CHECK(b.sum == a.sum);
  a.merge(b);
  CHECK(a.largest == 5.0);
  CHECK(a.sum == Approx(1.5530).epsilon(1e-4));
  CHECK(a.sum == Approx(1.0 + std::exp(-1.0) + std::exp(-2.0) + std::exp(-3.0)).epsilon(1e-15));
}

TEST_CASE("merging is commutative, and nothing merges into nothing", "[attention]") {
  const Matrix v = random_matrix(4, 3, 1.0, 7, 0);
  PartialSoftmax a(3);
  PartialSoftmax b(3);
  a.add(std::vector{1.0, masked}, v, 0);
  b.add(std::vector{-700.0, 50.0}, v, 2);
  PartialSoftmax ab = a;
  ab.merge(b);
  PartialSoftmax ba = b;
  ba.merge(a);
  CHECK(ab.sum == ba.sum);
  CHECK(ab.weighted == ba.weighted);
  PartialSoftmax empty(3);
  empty.merge(PartialSoftmax(3));
  CHECK(empty.sum == 0.0);
  ab.merge(empty);
  CHECK(ab.weighted == ba.weighted);
  std::vector<double> o{1.0, 1.0, 1.0};
  empty.divide_into(o);
  CHECK(o == std::vector{1.0, 1.0, 1.0});
}

TEST_CASE("what standard attention moves is what the hardware model counts for naive kernels",
          "[attention]") {
  const bool causal = GENERATE(false, true);
  const AttentionCounts counts = standard_attention(random_problem(96, 96, 16, causal)).counts;
  const hw::KernelCost naive =
      hw::prefill_attention(hw::load_gpu("a100_sxm_80gb"), hw::PrefillKernel::naive, {1, 1, 16},
                            {.new_tokens = 96, .causal = causal});
  CHECK(static_cast<double>(counts.bytes()) == naive.bytes.value());
  CHECK(static_cast<double>(counts.matmul_flops) == naive.flops.value());
}

TEST_CASE("what FlashAttention-1 moves is what the hardware model counts for it", "[attention]") {
  // At width 64 an A100's 164 KiB give K/V blocks of 256 and Q blocks of 128.
  const bool causal = GENERATE(false, true);
  const AttentionCounts counts =
      flash_attention_1(random_problem(512, 512, 64, causal), {128, 256}).counts;
  const hw::KernelTerms terms =
      hw::prefill_terms(hw::load_gpu("a100_sxm_80gb"), hw::PrefillKernel::fa1, {1, 1, 64},
                        {.new_tokens = 512, .causal = causal});
  CHECK(static_cast<double>(counts.bytes()) == terms.bytes.value());
  CHECK(static_cast<double>(counts.matmul_flops) == terms.flops.value());
}

TEST_CASE("values moved follow N² + Nd and N²d² / M", "[attention]") {
  const std::int64_t n = 256;
  const std::int64_t d = 32;
  const AttentionProblem problem = random_problem(n, n, d, false);
  const auto values = [](const AttentionResult& result) {
    return result.counts.reads + result.counts.writes;
  };
  CHECK(values(standard_attention(problem)) == 4 * n * n + 4 * n * d);
  for (const std::int64_t block : {16, 32, 64}) {
    const std::int64_t sram = 4 * d * block;
    CHECK(values(flash_attention_1(problem, {block, block})) ==
          12 * n * n * d * d / sram + 2 * n * d);
    CHECK(values(flash_attention_2(problem, {block, block})) ==
          8 * n * n * d * d / sram + 2 * n * d);
  }
}

TEST_CASE("FlashAttention-2 does fewer other FLOPs than FlashAttention-1, and the same products",
          "[attention]") {
  const AttentionProblem problem = random_problem(128, 128, 32, GENERATE(false, true));
  const AttentionCounts first = flash_attention_1(problem, {32, 32}).counts;
  const AttentionCounts second = flash_attention_2(problem, {32, 32}).counts;
  CHECK(first.matmul_flops == second.matmul_flops);
  CHECK(first.other_flops > second.other_flops);
  CHECK(first.writes > second.writes);
  CHECK(second.writes == 128 * 32);
}

TEST_CASE("a causal mask leaves the blocks on and below the diagonal", "[attention]") {
  const auto flops = [](bool causal) {
    return flash_attention_2(random_problem(128, 128, 8, causal), {16, 16}).counts.matmul_flops;
  };
  CHECK(flops(true) * 64 == flops(false) * 36);  // 8 · 9 / 2 of 8 · 8 blocks.
}

TEST_CASE("problems whose matrices do not match are our bug", "[attention]") {
  AttentionProblem problem = random_problem(4, 4, 4, false);
  problem.v = Matrix(3, 4);
  CHECK_THROWS_AS(standard_attention(problem), InternalError);
  CHECK_THROWS_AS(flash_attention_2(random_problem(4, 4, 4, false), {0, 4}), InternalError);
}
