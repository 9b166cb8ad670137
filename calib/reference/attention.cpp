#include "calib/reference/attention.hpp"

#include <algorithm>
#include <boost/random/normal_distribution.hpp>
#include <cmath>

#include "sim/base/check.hpp"
#include "sim/base/random.hpp"

namespace tokenline::reference {
namespace {

constexpr double masked = -std::numeric_limits<double>::infinity();

/// Rows `first` to `last`, the latter not included.
struct Range {
  std::int64_t first = 0;
  std::int64_t last = 0;
  [[nodiscard]] std::int64_t size() const { return last - first; }
};

/// The sizes of a problem, checked, and its scores.
class Problem {
 public:
  explicit Problem(const AttentionProblem& given)
      : given_(given), queries(given.q.rows()), keys(given.k.rows()), width(given.q.columns()) {
    TOKENLINE_CHECK(queries >= 1 && keys >= 1 && width >= 1 && given.v.columns() >= 1,
                    "attention of {} queries, {} keys, width {}", queries, keys, width);
    TOKENLINE_CHECK(given.k.columns() == width && given.v.rows() == keys,
                    "keys and values do not match queries of width {}", width);
    TOKENLINE_CHECK(!given.bias || (given.bias->rows() == queries && given.bias->columns() == keys),
                    "the bias is not {} x {}", queries, keys);
  }

  /// Keys that query `i` sees under the mask, from the first.
  [[nodiscard]] std::int64_t seen(std::int64_t i) const {
    return given_.causal ? std::clamp<std::int64_t>(i + 1 + keys - queries, 0, keys) : keys;
  }

  [[nodiscard]] double score(std::int64_t i, std::int64_t j) const {
    if (j >= seen(i)) return masked;
    const double product = scaled_product(given_.q.row(i), given_.k.row(j));
    return given_.bias ? product + given_.bias->row(i)[static_cast<std::size_t>(j)] : product;
  }

  [[nodiscard]] std::vector<double> scores(std::int64_t i, Range some) const {
    std::vector<double> row;
    for (std::int64_t j = some.first; j < some.last; ++j) row.push_back(score(i, j));
    return row;
  }

  /// Whether any query of these sees any key of those under the causal mask.
  [[nodiscard]] bool meets(Range some, Range those) const {
    return seen(some.last - 1) > those.first;
  }

  /// Of a tile of scores and its product with V: QKᵀ and PV; scale, bias, maximum, difference, exp
  /// and sum. The bias is read.
  void count_tile(AttentionCounts& counts, std::int64_t rows, std::int64_t columns) const {
    counts.matmul_flops += 2 * rows * columns * (width + given_.v.columns());
    counts.other_flops += (given_.bias ? 6 : 5) * rows * columns;
    if (given_.bias) counts.reads += rows * columns;
  }

 private:
  const AttentionProblem& given_;

 public:
  const std::int64_t queries;
  const std::int64_t keys;
  const std::int64_t width;
};

std::vector<Range> cut(Range whole, std::int64_t size) {
  TOKENLINE_CHECK(size >= 1, "blocks of {} rows", size);
  std::vector<Range> all;
  for (std::int64_t first = whole.first; first < whole.last; first += size)
    all.push_back({first, std::min(first + size, whole.last)});
  return all;
}

/// O, l and m of one query, as FlashAttention-1 keeps them in HBM: O divided by l.
struct Kept {
  double largest = masked;
  double sum = 0.0;
};

/// Lines 11 to 13 of algorithm 1: a block's softmax into the kept one.
void rescale(Kept& kept, std::span<double> o, const PartialSoftmax& block) {
  const double largest = std::max(kept.largest, block.largest);
  const double before = softmax_weight(kept.largest, largest) * kept.sum;
  const double added = softmax_weight(block.largest, largest);
  const double sum = before + added * block.sum;
  if (sum > 0.0)
    for (std::size_t c = 0; c < o.size(); ++c)
      o[c] = (before * o[c] + added * block.weighted[c]) / sum;
  kept = {largest, sum};
}

}  // namespace

Matrix random_matrix(std::int64_t rows, std::int64_t columns, double scale, std::uint64_t seed,
                     std::uint64_t id) {
  RandomStream stream(seed, "random_matrix", id);
  boost::random::normal_distribution<double> normal(0.0, scale);
  Matrix matrix(rows, columns);
  for (std::int64_t i = 0; i < rows; ++i)
    for (double& value : matrix.row(i)) value = normal(stream);
  return matrix;
}

double largest_difference(const Matrix& a, const Matrix& b) {
  TOKENLINE_CHECK(a.rows() == b.rows() && a.columns() == b.columns(), "{} x {} beside {} x {}",
                  a.rows(), a.columns(), b.rows(), b.columns());
  double largest = 0.0;
  for (std::int64_t i = 0; i < a.rows(); ++i)
    for (std::size_t c = 0; c < a.row(i).size(); ++c) {
      const double difference = std::abs(a.row(i)[c] - b.row(i)[c]);
      if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
      largest = std::max(largest, difference);
    }
  return largest;
}

AttentionCounts& AttentionCounts::operator+=(const AttentionCounts& other) {
  matmul_flops += other.matmul_flops;
  other_flops += other.other_flops;
  reads += other.reads;
  writes += other.writes;
  statistics += other.statistics;
  return *this;
}

double softmax_weight(double score, double largest) {
  return score == masked ? 0.0 : std::exp(score - largest);
}

double scaled_product(std::span<const double> q, std::span<const double> k) {
  double sum = 0.0;
  for (std::size_t c = 0; c < q.size(); ++c) sum += q[c] * k[c];
  return sum / std::sqrt(static_cast<double>(q.size()));
}

void PartialSoftmax::add(std::span<const double> scores, const Matrix& v, std::int64_t first) {
  const double before = largest;
  for (const double score : scores) largest = std::max(largest, score);
  const double kept = softmax_weight(before, largest);
  sum *= kept;
  for (double& value : weighted) value *= kept;
  for (std::int64_t j = first; const double score : scores) {
    const double weight = softmax_weight(score, largest);
    const std::span<const double> values = v.row(j++);
    sum += weight;
    for (std::size_t c = 0; c < weighted.size(); ++c) weighted[c] += weight * values[c];
  }
}

void PartialSoftmax::merge(const PartialSoftmax& other) {
  const double both = std::max(largest, other.largest);
  const double own = softmax_weight(largest, both);
  const double theirs = softmax_weight(other.largest, both);
  sum = own * sum + theirs * other.sum;
  for (std::size_t c = 0; c < weighted.size(); ++c)
    weighted[c] = own * weighted[c] + theirs * other.weighted[c];
  largest = both;
}

void PartialSoftmax::divide_into(std::span<double> o) const {
  if (sum == 0.0) return;
  for (std::size_t c = 0; c < o.size(); ++c) o[c] = weighted[c] / sum;
}

AttentionResult standard_attention(const AttentionProblem& given) {
  const Problem problem(given);
  AttentionResult result{Matrix(problem.queries, given.v.columns()), {}};
  for (std::int64_t i = 0; i < problem.queries; ++i) {
    std::vector<double> p = problem.scores(i, {0, problem.keys});
    const double largest = std::ranges::max(p);
    double sum = 0.0;
    for (double& value : p) sum += value = softmax_weight(value, largest);
    if (sum == 0.0) continue;
    const std::span<double> o = result.o.row(i);
    for (std::int64_t j = 0; const double value : p) {
      const std::span<const double> values = given.v.row(j++);
      for (std::size_t c = 0; c < o.size(); ++c) o[c] += value / sum * values[c];
    }
  }
  AttentionCounts& counts = result.counts;
  const std::int64_t scores = problem.queries * problem.keys;
  problem.count_tile(counts, problem.queries, problem.keys);
  counts.other_flops += scores;
  // Q and K in, S out; S in, P out; P and V in, O out; S in and out for a mask.
  counts.reads += 2 * scores + problem.queries * problem.width +
                  problem.keys * (problem.width + given.v.columns());
  counts.writes += 2 * scores + problem.queries * given.v.columns();
  if (given.causal || given.bias) {
    counts.reads += scores;
    counts.writes += scores;
  }
  return result;
}

AttentionResult flash_attention_1(const AttentionProblem& given, const AttentionBlocks& blocks) {
  const Problem problem(given);
  const std::int64_t out = given.v.columns();
  AttentionResult result{Matrix(problem.queries, out), {}};
  AttentionCounts& counts = result.counts;
  std::vector<Kept> kept(static_cast<std::size_t>(problem.queries));
  for (const Range keys : cut({0, problem.keys}, blocks.keys)) {
    counts.reads += keys.size() * (problem.width + out);
    for (const Range queries : cut({0, problem.queries}, blocks.queries)) {
      if (!problem.meets(queries, keys)) continue;
      for (std::int64_t i = queries.first; i < queries.last; ++i) {
        PartialSoftmax block(out);
        block.add(problem.scores(i, keys), given.v, keys.first);
        rescale(kept[static_cast<std::size_t>(i)], result.o.row(i), block);
      }
      problem.count_tile(counts, queries.size(), keys.size());
      // Of a row: the larger maximum, two exp of differences, the sum; of O: two products, a sum
      // and a division.
      counts.other_flops += queries.size() * (1 + 4 + 4 + 4 * out);
      counts.reads += queries.size() * (problem.width + out);
      counts.writes += queries.size() * out;
      counts.statistics += queries.size() * 4;
    }
  }
  return result;
}

AttentionResult flash_attention_2(const AttentionProblem& given, const AttentionBlocks& blocks) {
  const Problem problem(given);
  const std::int64_t out = given.v.columns();
  AttentionResult result{Matrix(problem.queries, out), {}};
  AttentionCounts& counts = result.counts;
  for (const Range queries : cut({0, problem.queries}, blocks.queries)) {
    std::vector<PartialSoftmax> rows(static_cast<std::size_t>(queries.size()), PartialSoftmax(out));
    for (const Range keys : cut({0, problem.keys}, blocks.keys)) {
      if (!problem.meets(queries, keys)) break;
      for (std::int64_t i = queries.first; i < queries.last; ++i)
        rows[static_cast<std::size_t>(i - queries.first)].add(problem.scores(i, keys), given.v,
                                                              keys.first);
      problem.count_tile(counts, queries.size(), keys.size());
      // Of a row: the larger maximum, an exp of a difference, the scaled sum; of O: one product.
      counts.other_flops += queries.size() * (1 + 2 + 2 + out);
      counts.reads += keys.size() * (problem.width + out);
    }
    for (std::int64_t i = queries.first; i < queries.last; ++i)
      rows[static_cast<std::size_t>(i - queries.first)].divide_into(result.o.row(i));
    counts.other_flops += queries.size() * out;
    counts.reads += queries.size() * problem.width;
    counts.writes += queries.size() * out;
  }
  return result;
}

AttentionResult flash_decoding(const AttentionProblem& given, const AttentionBlocks& blocks,
                               std::int64_t part_keys) {
  const Problem problem(given);
  const std::int64_t out = given.v.columns();
  AttentionResult result{Matrix(problem.queries, out), {}};
  AttentionCounts& counts = result.counts;
  std::vector<PartialSoftmax> merged(static_cast<std::size_t>(problem.queries),
                                     PartialSoftmax(out));
  for (const Range part : cut({0, problem.keys}, part_keys)) {
    for (std::int64_t i = 0; i < problem.queries; ++i) {
      PartialSoftmax own(out);
      for (const Range keys : cut(part, blocks.keys))
        own.add(problem.scores(i, keys), given.v, keys.first);
      merged[static_cast<std::size_t>(i)].merge(own);
    }
    for (const Range keys : cut(part, blocks.keys)) {
      problem.count_tile(counts, problem.queries, keys.size());
      counts.other_flops += problem.queries * (1 + 2 + 2 + out);
      counts.reads += keys.size() * (problem.width + out);
    }
    // O, m and l of the part, written and read again; the merge scales two and sums them.
    counts.reads += problem.queries * problem.width;
    counts.statistics += 2 * problem.queries * (out + 2);
    counts.other_flops += problem.queries * (1 + 4 + 3 * (out + 1));
  }
  for (std::int64_t i = 0; i < problem.queries; ++i)
    merged[static_cast<std::size_t>(i)].divide_into(result.o.row(i));
  counts.other_flops += problem.queries * out;
  counts.writes += problem.queries * out;
  return result;
}

}  // namespace tokenline::reference
