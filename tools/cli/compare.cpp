#include "sim/report/comparison.hpp"
#include "sim/report/html_report.hpp"
#include "sim/report/run_directory.hpp"
#include "tools/cli/arguments.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/threads.hpp"

namespace tokenline::cli {
namespace {

Usage compare_usage() {
  return {
      .synopsis = "compare STUDY [options]",
      .about =
          "Simulates the variants of a study: holds its claims against the results, ranks "
          "the variants\nand shows where they differ.",
      .positional = "STUDY",
      .options = {{"json", "", "Print one JSON object with everything.", false},
                  {"out", "DIR", "Write compare.json and a run directory per variant.", false},
                  {"report", "FILE", "Write everything as one HTML page.", false},
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

/// The page must be neither an input nor the compare.json in `--out`.
void check_page(const std::string& page, const std::optional<std::string>& out,
                const std::string& file, const report::Study& study) {
  std::vector<std::string> inputs{file};
  for (const report::Variant& variant : study.variants) {
    inputs.push_back(variant.scenario.file);
    for (const std::string& input : report::input_files(variant.scenario)) inputs.push_back(input);
  }
  std::vector<std::string> outputs{page};
  if (out) outputs.push_back(*out + "/compare.json");
  report::refuse_to_overwrite(outputs, inputs);
}

}  // namespace

Outcome compare_command(const std::vector<std::string>& words) {
  const auto arguments = parse(compare_usage(), words);
  if (!arguments) return {success, help_text(compare_usage())};
  const report::ComparisonOptions options{.threads = threads(*arguments),
                                          .ignore_fidelity = arguments->has("ignore-fidelity"),
                                          .out = arguments->value("out"),
                                          .report = arguments->has("report")};
  report::Study study = report::load_study(arguments->positional());
  const auto page = arguments->value("report");
  if (page) check_page(*page, options.out, arguments->positional(), study);
  const report::Comparison comparison = report::compare(study, options);
  if (page && !comparison.refused) report::write_file(*page, report::comparison_report(comparison));
  Outcome outcome{success, arguments->has("json") ? report::comparison_json(comparison)
                                                  : report::comparison_text(comparison)};
  if (!comparison.audits_passed())
    outcome.exit_code = our_bug;
  else if (comparison.refused || !comparison.asserts_passed())
    outcome.exit_code = assert_failed;
  return outcome;
}

}  // namespace tokenline::cli
