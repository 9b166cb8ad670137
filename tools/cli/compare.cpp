#include "sim/report/comparison.hpp"
#include "tools/cli/arguments.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/threads.hpp"

namespace tokenline::cli {
namespace {

Usage usage() {
  return {
      .synopsis = "compare STUDY [options]",
      .about =
          "Simulates the variants of a study: holds its claims against the results, ranks "
          "the variants\nand shows where they differ.",
      .positional = "STUDY",
      .options = {{"json", "", "Print one JSON object with everything.", false},
                  {"out", "DIR", "Write compare.json and a run directory per variant.", false},
                  {"ignore-fidelity", "",
                   "Simulate variants of a base whose replay misses what was observed, too.",
                   false},
                  {"threads", "N", "Variants simulated at a time; all processors by default.",
                   false}},
      .epilogue =
          "The result is the same for any number of threads. Where a base has `observed:` and its "
          "replay\nmisses a P99 by more than the tolerance, variants are refused, with exit code "
          "1. `tokenline describe "
          "study` lists the keys\nof a study.\n" +
          std::string(exit_codes())};
}

}  // namespace

Outcome compare_command(const std::vector<std::string>& words) {
  const auto arguments = parse(usage(), words);
  if (!arguments) return {success, help_text(usage())};
  const report::ComparisonOptions options{.threads = threads(*arguments),
                                          .ignore_fidelity = arguments->has("ignore-fidelity"),
                                          .out = arguments->value("out")};
  report::Study study = report::load_study(arguments->positional());
  const report::Comparison comparison = report::compare(study, options);
  Outcome outcome{success, arguments->has("json") ? report::comparison_json(comparison)
                                                  : report::comparison_text(comparison)};
  if (!comparison.audits_passed())
    outcome.exit_code = our_bug;
  else if (comparison.refused || !comparison.asserts_passed())
    outcome.exit_code = assert_failed;
  return outcome;
}

}  // namespace tokenline::cli
