#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "calib/reference/batching.hpp"
#include "sim/base/integer.hpp"
#include "sim/config/numbers.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/text_table.hpp"
#include "tools/cli/lab.hpp"

namespace tokenline::cli {
namespace {

using report::figure_text;

constexpr std::string_view worked = "12,25,37,37,11,19,40,31,40,36,33,20,5,10,12,23";
constexpr std::int64_t longest_output = 100'000;
constexpr std::size_t most_outputs = 1000;
constexpr std::size_t most_groups = 16;  ///< That are printed.

std::vector<std::int64_t> outputs(const std::string& list) {
  std::vector<std::int64_t> all;
  std::string_view rest = list;
  for (bool more = true; more;) {
    const auto comma = rest.find(',');
    const auto number = config::parse_integer(rest.substr(0, comma));
    if (!number.ok() || number.value < 1 || number.value > longest_output)
      throw UsageError(fmt::format("--outputs {}: expected whole numbers from 1 to {}, as in 12,25",
                                   list, longest_output));
    all.push_back(number.value);
    more = comma != std::string_view::npos;
    if (more) rest.remove_prefix(comma + 1);
  }
  if (all.size() > most_outputs)
    throw UsageError(fmt::format("--outputs: {} numbers, at most {}", all.size(), most_outputs));
  return all;
}

std::string groups(const std::vector<std::int64_t>& outputs, std::int64_t slots) {
  std::string text;
  const auto size = static_cast<std::size_t>(slots);
  for (std::size_t first = 0; first < outputs.size(); first += size) {
    if (first / size == most_groups) return text + "  …\n";
    const auto last = std::min(first + size, outputs.size());
    const std::vector<std::int64_t> group(outputs.begin() + static_cast<std::ptrdiff_t>(first),
                                          outputs.begin() + static_cast<std::ptrdiff_t>(last));
    text += report::wrapped(
        fmt::format("{} tokens: {} steps", fmt::join(group, " + "), std::ranges::max(group)), 2,
        92);
  }
  return text;
}

}  // namespace

Usage batching_lab_usage() {
  return {
      .synopsis = "lab batching [options]",
      .about =
          "Generates some outputs in a batch of fixed size, a token per request and step, each\n"
          "step reading the weights once: in batches that run until their longest output is\n"
          "complete, and with the next request in each slot that becomes free.",
      .positional = "",
      .options = {{"outputs", "N,N,…", fmt::format("Tokens of each; {} by default.", worked),
                   false},
                  {"batch", "N", "Slots; 4 by default.", false}},
      .epilogue = std::string(exit_codes())};
}

Outcome batching_lab(const Arguments& arguments) {
  const std::vector<std::int64_t> all =
      outputs(arguments.value("outputs").value_or(std::string(worked)));
  const std::int64_t slots = arguments.integer("batch", 4, 1, 100'000);
  const auto fixed = reference::static_batching(all, slots);
  const auto refilled = reference::continuous_batching(all, slots);
  const std::int64_t fewest = reference::fewest_steps(all, slots);
  report::TextTable table(1);
  table.row({"", "steps", "tokens per step", "% of slots busy"});
  const auto add = [&](const char* name, std::int64_t steps) {
    const reference::BatchingResult result{steps, fixed.tokens, slots};
    table.row({name, fmt::format("{}", steps), figure_text(result.tokens_per_step()),
               figure_text(100.0 * result.utilization())});
  };
  add("static", fixed.steps);
  add("continuous", refilled.steps);
  add("no order takes fewer", fewest);
  return {
      success,
      fmt::format("{} outputs, {} tokens, {} slots\n\nStatic, the longest of each batch:\n{}\n{}"
                  "\nContinuous: {} % fewer steps, {} times the tokens of each reading of the "
                  "weights.\nThe fewest: max(tokens / slots rounded up, longest output).\n",
                  all.size(), fixed.tokens, slots, groups(all, slots), table.text(),
                  figure_text(100.0 * (1.0 - real(refilled.steps) / real(fixed.steps))),
                  figure_text(real(fixed.steps) / real(refilled.steps)))};
}

}  // namespace tokenline::cli
