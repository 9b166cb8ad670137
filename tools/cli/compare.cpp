#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

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
      .options =
          {{"json", "", "Print one JSON object with everything.", false},
           {"out", "DIR", "Write compare.json and a run directory per variant.", false},
           {"report", "FILE", "Write everything as one HTML page.", false},
           {"ignore-fidelity", "",
            "Simulate variants of a base whose replay misses what was observed, too.", false},
           {"replications", "N",
            "Run every variant with N seeds (5 ... 10000) and say what differs from the "
            "first one, with confidence intervals.",
            false},
           {"precision", "P%",
            "Add replications until the interval of what is ranked by is that tight.", false},
           {"max-replications", "N", "The most that --precision may add up to; 200.", false},
           {"confidence", "P%", "Of the intervals; 95%.", false},
           {"drop-warm-up", "", "Measure from where all variants have warmed up (MSER-5).", false},
           {"threads", "N", "Variants simulated at a time; all processors by default.", false}},
      .epilogue =
          "The result is the same for any number of threads. A --precision that is not reached, "
          "like "
          "an assert\nthat fails, gives exit code 1. Where a base has `observed:` and its "
          "replay\nmisses a P99 by more than the tolerance, variants are refused, with exit code "
          "1. `tokenline describe "
          "study` lists the keys\nof a study.\n" +
          std::string(exit_codes())};
}

/// "2%" or "2 %" as 0.02, more than 0 and less than 1. Throws UsageError.
double share(const std::string& option, std::string text) {
  const auto wrong = [&] {
    return UsageError(
        fmt::format("--{} is a percentage between 0% and 100%, not '{}'", option, text));
  };
  std::size_t read = 0;
  double value = 0.0;
  try {
    value = std::stod(text, &read);
  } catch (const std::logic_error&) {
    throw wrong();
  }
  const std::string unit = text.substr(std::min(text.find_first_not_of(' ', read), text.size()));
  if (unit != "%" || !(value > 0.0 && value < 100.0)) throw wrong();
  return value / 100.0;
}

std::optional<report::ReplicationOptions> replications(const Arguments& arguments) {
  if (!arguments.has("replications") && !arguments.has("precision")) {
    for (const char* option : {"max-replications", "confidence", "drop-warm-up"})
      if (arguments.has(option))
        throw UsageError(fmt::format("--{} goes with --replications or --precision", option));
    return std::nullopt;
  }
  if (arguments.has("max-replications") && !arguments.has("precision"))
    throw UsageError("--max-replications goes with --precision");
  report::ReplicationOptions options;
  options.count = static_cast<std::size_t>(
      arguments.integer("replications", static_cast<std::int64_t>(options.count),
                        report::fewest_replications, 10'000));
  if (const auto text = arguments.value("precision")) options.precision = share("precision", *text);
  options.most = static_cast<std::size_t>(arguments.integer(
      "max-replications", static_cast<std::int64_t>(options.most),
      static_cast<std::int64_t>(std::max<std::size_t>(options.count, 10)), 100'000));
  if (const auto text = arguments.value("confidence"))
    options.confidence = share("confidence", *text);
  options.drop_warm_up = arguments.has("drop-warm-up");
  options.threads = threads(arguments);
  return options;
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
  const std::string& file = arguments->positional();
  const report::ComparisonOptions options{
      .threads = threads(*arguments),
      .ignore_fidelity = arguments->has("ignore-fidelity"),
      .out = arguments->value("out"),
      .report = arguments->has("report"),
      .replications = replications(*arguments),
      .reload = [&](std::uint64_t shift) { return report::load_study(file, shift); }};
  report::Study study = report::load_study(file);
  const auto page = arguments->value("report");
  if (page) check_page(*page, options.out, file, study);
  const report::Comparison comparison = report::compare(study, options);
  if (page && !comparison.refused) report::write_file(*page, report::comparison_report(comparison));
  Outcome outcome{success, arguments->has("json") ? report::comparison_json(comparison)
                                                  : report::comparison_text(comparison)};
  if (!comparison.audits_passed())
    outcome.exit_code = our_bug;
  else if (comparison.refused || !comparison.asserts_passed() ||
           (comparison.replicated && !comparison.replicated->reached))
    outcome.exit_code = assert_failed;
  return outcome;
}

}  // namespace tokenline::cli
