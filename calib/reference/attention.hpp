#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace tokenline::reference {

/// Doubles, row after row.
class Matrix {
 public:
  Matrix() = default;
  /// Zeros; `rows` and `columns` are at least 0.
  Matrix(std::int64_t rows, std::int64_t columns)
      : rows_(rows),
        columns_(columns),
        values_(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns)) {}

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t columns() const { return columns_; }
  [[nodiscard]] std::span<double> row(std::int64_t i) {
    return std::span(values_).subspan(offset(i), static_cast<std::size_t>(columns_));
  }
  [[nodiscard]] std::span<const double> row(std::int64_t i) const {
    return std::span(values_).subspan(offset(i), static_cast<std::size_t>(columns_));
  }
  friend bool operator==(const Matrix&, const Matrix&) = default;

 private:
  [[nodiscard]] std::size_t offset(std::int64_t i) const {
    return static_cast<std::size_t>(i) * static_cast<std::size_t>(columns_);
  }

  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  std::vector<double> values_;
};

/// Values of a normal distribution around 0 with standard deviation `scale`, the `id`-th of `seed`.
[[nodiscard]] Matrix random_matrix(std::int64_t rows, std::int64_t columns, double scale,
                                   std::uint64_t seed, std::uint64_t id);

/// The largest |a − b| of two matrices of one shape; infinite where one is not a number.
[[nodiscard]] double largest_difference(const Matrix& a, const Matrix& b);

/// One head: softmax(QKᵀ / √d + bias) · V. Contract: q and k have one width, k and v one height,
/// all at least 1; scores are finite or −∞.
struct AttentionProblem {
  Matrix q;
  Matrix k;
  Matrix v;
  /// Query i sees key j where j − keys ≤ i − queries: the last query sees all (FlashAttention's
  /// alignment since 2.1).
  bool causal = false;
  std::optional<Matrix> bias;  ///< queries × keys; −∞ masks a score.
};

/// What an algorithm computes, and what it moves between HBM and the SRAM of an SM when nothing
/// else is cached.
struct AttentionCounts {
  std::int64_t matmul_flops = 0;  ///< Two per multiplication and addition of QKᵀ and PV.
  std::int64_t other_flops = 0;   ///< Of scale, bias, maximum, exp, sum, rescaling, division.
  std::int64_t reads = 0;         ///< Values of Q, K, V, O, S, P.
  std::int64_t writes = 0;
  std::int64_t statistics = 0;  ///< Values in fp32 read and written: m, l, partial O.

  AttentionCounts& operator+=(const AttentionCounts& other);
  /// Bytes of HBM with 16-bit values.
  [[nodiscard]] std::int64_t bytes() const { return 2 * (reads + writes) + 4 * statistics; }
};

struct AttentionResult {
  Matrix o;  ///< A query that sees no key has zeros.
  AttentionCounts counts;
};

/// Rows of queries and of keys that are on chip at a time.
struct AttentionBlocks {
  std::int64_t queries = 64;
  std::int64_t keys = 64;
};

/// Three passes over the whole S and P: 4·q·k + 2·q·d + 2·k·d values of HBM for q queries and k
/// keys, 2·q·k more where a mask is added in a pass of its own, and the bias once.
[[nodiscard]] AttentionResult standard_attention(const AttentionProblem& problem);

/// FlashAttention (Dao et al., arXiv 2205.14135, algorithm 1): K/V blocks outside, Q blocks inside;
/// O is kept divided, so that every block reads, rescales, divides and writes it. Blocks that a
/// causal mask covers are skipped.
[[nodiscard]] AttentionResult flash_attention_1(const AttentionProblem& problem,
                                                const AttentionBlocks& blocks);

/// FlashAttention-2 (Dao, arXiv 2307.08691, algorithm 1): Q blocks outside, O on chip until its
/// one division. Reads K and V once per Q block (on a GPU from L2, where they fit).
[[nodiscard]] AttentionResult flash_attention_2(const AttentionProblem& problem,
                                                const AttentionBlocks& blocks);

/// FlashDecoding (Dao et al., 2023, pytorch.org/blog/flash-decoding): the keys in parts of
/// `part_keys`, each attended to alone, by blocks of keys; a second kernel merges the parts.
[[nodiscard]] AttentionResult flash_decoding(const AttentionProblem& problem,
                                             const AttentionBlocks& blocks, std::int64_t part_keys);

/// A softmax over some of the keys of one query, not yet divided (Milakov and Gimelshein, arXiv
/// 1805.02867): the largest score, Σ e^(score − largest), and Σ e^(score − largest) · value.
struct PartialSoftmax {
  double largest = -std::numeric_limits<double>::infinity();
  double sum = 0.0;
  std::vector<double> weighted;  ///< As wide as V.

  explicit PartialSoftmax(std::int64_t width) : weighted(static_cast<std::size_t>(width)) {}
  /// Takes in one more block of keys: scores[j] belongs to row first + j of `v`.
  void add(std::span<const double> scores, const Matrix& v, std::int64_t first);
  /// Takes in a softmax over other keys: m = max, l and O scaled by e^(own m − m) and summed.
  void merge(const PartialSoftmax& other);
  /// weighted / sum; zeros where no key is seen.
  void divide_into(std::span<double> o) const;
};

/// e^(score − largest); 0 for a score of −∞, also where all are.
[[nodiscard]] double softmax_weight(double score, double largest);

/// q · k / √d, as every algorithm here computes it.
[[nodiscard]] double scaled_product(std::span<const double> q, std::span<const double> k);

}  // namespace tokenline::reference
