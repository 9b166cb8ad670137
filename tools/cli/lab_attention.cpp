#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "calib/reference/attention.hpp"
#include "sim/base/integer.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/text_table.hpp"
#include "tools/cli/lab.hpp"

namespace tokenline::cli {
namespace {

using reference::AttentionCounts;
using reference::AttentionProblem;
using reference::AttentionResult;
using report::figure_text;

constexpr double largest_error = 1e-12;
/// Multiplications that take the four algorithms about a minute.
constexpr double most_work = 1e10;

struct AttentionExperiment {
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t width = 0;
  std::int64_t heads = 0;
  bool causal = false;
  reference::AttentionBlocks blocks;
  std::int64_t part_keys = 0;
  std::int64_t sram = 0;  ///< KiB.
  std::uint64_t seed = 0;

  /// Bytes of a Q block and of K and V blocks at 16 bit.
  [[nodiscard]] std::int64_t on_chip() const {
    return 2 * width * (blocks.queries + 2 * blocks.keys);
  }
};

AttentionExperiment attention_experiment(const Arguments& arguments) {
  AttentionExperiment e;
  e.queries = arguments.integer("queries", 256, 1, 65'536);
  e.keys = arguments.integer("keys", e.queries, 1, 65'536);
  e.width = arguments.integer("width", 64, 1, 1024);
  e.heads = arguments.integer("heads", 1, 1, 1024);
  e.causal = arguments.has("causal");
  e.blocks = {arguments.integer("block-queries", 64, 1, 65'536),
              arguments.integer("block-keys", 64, 1, 65'536)};
  e.part_keys = arguments.integer("part-keys", 256, 1, 65'536);
  e.sram = arguments.integer("sram", 164, 1, 65'536);
  e.seed = seed_of(arguments);
  if (e.on_chip() > 1024 * e.sram)
    throw UsageError(fmt::format(
        "blocks of {} queries and {} keys of width {} take ({} + 2 x {}) x {} x 2 = {} bytes, more "
        "than the {} KiB of --sram\n  hint: smaller --block-queries or --block-keys",
        e.blocks.queries, e.blocks.keys, e.width, e.blocks.queries, e.blocks.keys, e.width,
        e.on_chip(), e.sram));
  if (real(e.queries) * real(e.keys) * real(e.width * e.heads) > most_work)
    throw UsageError("queries x keys x width x heads exceed 10^10: this would take minutes");
  return e;
}

/// An algorithm over all heads.
struct Row {
  std::string name;
  double error = 0.0;  ///< Against standard attention.
  AttentionCounts counts;
};

std::vector<Row> computed(const AttentionExperiment& e) {
  std::vector<Row> rows{{"standard", 0.0, {}},
                        {"FlashAttention-1", 0.0, {}},
                        {"FlashAttention-2", 0.0, {}},
                        {fmt::format("FlashDecoding, parts of {}", e.part_keys), 0.0, {}}};
  for (std::int64_t head = 0; head < e.heads; ++head) {
    const auto matrix = [&](std::int64_t height, std::int64_t which) {
      return reference::random_matrix(height, e.width, 1.0, e.seed,
                                      static_cast<std::uint64_t>(3 * head + which));
    };
    const AttentionProblem problem{.q = matrix(e.queries, 0),
                                   .k = matrix(e.keys, 1),
                                   .v = matrix(e.keys, 2),
                                   .causal = e.causal,
                                   .bias = {}};
    const std::vector<AttentionResult> results{
        reference::standard_attention(problem), reference::flash_attention_1(problem, e.blocks),
        reference::flash_attention_2(problem, e.blocks),
        reference::flash_decoding(problem, e.blocks, e.part_keys)};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].counts += results[i].counts;
      rows[i].error =
          std::max(rows[i].error, reference::largest_difference(results[i].o, results.front().o));
    }
  }
  return rows;
}

std::string mega(std::int64_t count) { return figure_text(real(count) / 1e6); }

std::string counted(const std::vector<Row>& rows) {
  report::TextTable table(1);
  table.row({"", "largest", "matmul", "other", "read", "written", "fp32", "HBM", ""});
  table.row({"", "error", "MFLOP", "MFLOP", "M", "M", "M", "MB", "FLOP/B"});
  for (const Row& row : rows)
    table.row({row.name, row.error == 0.0 ? "0" : fmt::format("{:.1e}", row.error),
               mega(row.counts.matmul_flops), mega(row.counts.other_flops), mega(row.counts.reads),
               mega(row.counts.writes), mega(row.counts.statistics), mega(row.counts.bytes()),
               figure_text(real(row.counts.matmul_flops) / real(row.counts.bytes()))});
  return table.text();
}

/// 16-bit values of HBM as the orders of magnitude of the papers have them, with their constants.
std::string formulas(const AttentionExperiment& e, const std::vector<Row>& rows) {
  const double n = real(e.queries);
  const double k = real(e.keys);
  const double d = real(e.width);
  const double heads = real(e.heads);
  const auto sram = [&](std::int64_t block) { return 4.0 * d * real(block); };
  report::TextTable table(2);
  table.row({"", "values of HBM, unmasked", "formula M", "counted M", "ratio"});
  const auto add = [&](std::size_t index, std::string_view formula, double value) {
    const AttentionCounts& counts = rows[index].counts;
    const double moved = real(counts.reads + counts.writes);
    table.row({rows[index].name, std::string(formula), figure_text(heads * value / 1e6),
               figure_text(moved / 1e6), figure_text(moved / (heads * value))});
  };
  add(0, "4 q k + 2 q d + 2 k d", 4.0 * n * k + 2.0 * (n + k) * d);
  add(1, "12 q k d^2 / M + 2 k d, M = 4 d block-keys",
      12.0 * n * k * d * d / sram(e.blocks.keys) + 2.0 * k * d);
  add(2, "8 q k d^2 / M + 2 q d, M = 4 d block-queries",
      8.0 * n * k * d * d / sram(e.blocks.queries) + 2.0 * n * d);
  return table.text();
}

std::string worked_merge() {
  const std::vector<double> a{2.0, 4.0};
  const std::vector<double> b{3.0, 5.0};
  const reference::Matrix values(2, 1);
  reference::PartialSoftmax first(1);
  reference::PartialSoftmax second(1);
  first.add(a, values, 0);
  second.add(b, values, 0);
  reference::PartialSoftmax both = first;
  both.merge(second);
  double direct = 0.0;
  for (const double score : {2.0, 4.0, 3.0, 5.0}) direct += std::exp(score - 5.0);
  return fmt::format(
      "A softmax in two parts, scores A = [2, 4] and B = [3, 5]: l of A {:.4f} below m = {}, l of "
      "B "
      "{:.4f}\nbelow m = {}; merged l = {:.4f} e^({} - {}) + {:.4f} = {:.4f}, and {:.4f} in one "
      "go.\n",
      first.sum, first.largest, second.sum, second.largest, first.sum, first.largest, both.largest,
      second.sum, both.sum, direct);
}

}  // namespace

Usage attention_lab_usage() {
  return {
      .synopsis = "lab flash-attention [options]",
      .about =
          "Computes attention over normal draws by four algorithms in double precision and\n"
          "counts what each computes and moves through HBM: 16-bit values of Q, K, V, O and of\n"
          "the scores, fp32 values of softmax statistics and partial results. Nothing is\n"
          "cached between blocks: K and V that a GPU finds in L2 are read again.",
      .positional = "",
      .options =
          {{"queries", "N", "256 by default.", false},
           {"keys", "N", "As many as queries by default.", false},
           {"width", "N", "Of a head, d; 64 by default.", false},
           {"heads", "N", "1 by default.", false},
           {"causal", "", "Mask keys behind each query; the last query sees all.", false},
           {"block-queries", "N", "Rows of a Q block; 64 by default.", false},
           {"block-keys", "N", "Rows of a K/V block; 64 by default.", false},
           {"part-keys", "N", "Keys of a part of FlashDecoding; 256 by default.", false},
           {"sram", "KIB",
            "Shared memory of an SM, which a Q block and a K and V block at 16 bit must fit: "
            "164 (A100) by default, 228 on H100.",
            false},
           seed_option()},
      .epilogue = "Exit code 1 when an algorithm is 1e-12 or more off standard attention.\n" +
                  std::string(exit_codes())};
}

Outcome attention_lab(const Arguments& arguments) {
  const AttentionExperiment e = attention_experiment(arguments);
  const std::vector<Row> rows = computed(e);
  const double error = std::ranges::max(rows, {}, &Row::error).error;
  std::string text = fmt::format(
      "{} queries, {} keys, width {}, {} head{}{}; seed {}\n"
      "Blocks of {} queries and {} keys: ({} + 2 x {}) x {} x 2 bytes = {} of {} KiB on chip\n\n",
      e.queries, e.keys, e.width, e.heads, e.heads == 1 ? "" : "s", e.causal ? ", causal" : "",
      e.seed, e.blocks.queries, e.blocks.keys, e.blocks.queries, e.blocks.keys, e.width,
      figure_text(real(e.on_chip()) / 1024.0), e.sram);
  text += counted(rows) + '\n' + formulas(e, rows);
  if (e.causal)
    text += fmt::format(
        "Causal: the formulas know no mask, hence ratios that are not 1. The Flash algorithms skip "
        "blocks\nthat the mask covers, and compute {:.0f} % of them here (half of very many); "
        "standard attention adds\nthe mask in a pass of its own, 2 q k values more.\n",
        100.0 * real(rows[1].counts.matmul_flops) / real(rows[0].counts.matmul_flops));
  text += '\n' + worked_merge();
  return {error < largest_error ? success : assert_failed, text};
}

}  // namespace tokenline::cli
