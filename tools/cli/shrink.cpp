#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "sim/base/check.hpp"
#include "sim/config/numbers.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/request_subsets.hpp"
#include "sim/report/run_directory.hpp"
#include "sim/report/shrink_report.hpp"
#include "tools/cli/arguments.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/threads.hpp"

namespace tokenline::cli {
namespace {

/// Marks a folder that `shrink` may overwrite.
constexpr std::string_view shrink_marker = "shrink.json";
/// Requests: some two minutes of one core (sim/README.md, *Speed*).
constexpr std::int64_t usual_budget = 50'000'000;

Usage shrink_usage() {
  return {
      .synopsis = "shrink SCENARIO --breaks CONDITION [options]",
      .about =
          "Finds a few requests of a scenario with which a condition still holds, such as\n"
          "'chat.p99_ttft_ms > 1000', by simulating ever smaller parts of its traffic: halves, "
          "kinds "
          "of\nrequests, then delta debugging (ddmin). The P99 of few requests is nearly their "
          "largest.",
      .positional = "SCENARIO",
      .options =
          {{"breaks", "CONDITION", "`metric > number`, or with >=, < or <=, as in `assert:`.",
            false},
           {"out", "DIR", "Write scenario.yaml and trace.csv there, and run them once.", false},
           {"set", "PATH=VALUE", "Override a key, e.g. traffic.chat.stop='2 h'; repeatable.", true},
           {"seed", "N", "Seed of every random draw; the same as --set seed=N.", false},
           {"threads", "N", "Parts simulated at a time; all processors by default.", false},
           {"budget", "N", "Requests simulated at most, all parts together; 50,000,000 by default.",
            false}},
      .epilogue =
          "DIR/scenario.yaml asserts the opposite: `tokenline run` of it exits 1 for as long as "
          "the\n"
          "condition holds. Closed loops and conversations are recorded: their requests come when "
          "they\ncame in the whole run. The result is the same for any number of threads. Exit "
          "code "
          "1 also\nwhere the condition does not hold of the whole traffic.\n" +
          std::string(exit_codes())};
}

std::int64_t budget(const Arguments& arguments) {
  const auto text = arguments.value("budget");
  if (!text) return usual_budget;
  const auto number = config::parse_integer(*text);
  if (!number.ok() || number.value < 1)
    throw UsageError(fmt::format("--budget {}: expected a whole number of requests", *text));
  return number.value;
}

void show(const report::ShrinkProgress& progress) {
  std::fprintf(stderr, "\r%zu requests left after %zu simulations \x1b[K", progress.kept,
               progress.tests);
}

/// Writes the files and runs them, as a user will.
void write(const std::string& directory, const report::RequestSubsets& requests,
           const report::Shrunk& shrunk, const report::SubsetRun& found) {
  const std::filesystem::path folder(directory);
  const std::string path = (folder / "scenario.yaml").string();
  report::write_files(std::vector<report::OutputFile>{
      {path, requests.scenario_yaml(shrunk.kept, directory)},
      {(folder / "trace.csv").string(), requests.trace_csv(shrunk.kept)},
      {(folder / shrink_marker).string(), report::shrink_json(requests, shrunk, found)}});
  Scenario scenario = load_scenario(path);
  const RunResult run = tokenline::run(scenario);
  const report::Summary summary = report::summarize(scenario, run);
  const auto verdict = report::check({requests.condition()}, summary).front();
  TOKENLINE_CHECK(verdict.passed && verdict.value == found.value,
                  "{} does not repeat what was found", path);
}

}  // namespace

Outcome shrink_command(const std::vector<std::string>& words) {
  const auto arguments = parse(shrink_usage(), words);
  if (!arguments) return {success, help_text(shrink_usage())};
  ScenarioOptions options{.overrides = arguments->values("set")};
  if (const auto seed = arguments->value("seed")) options.overrides.push_back("seed=" + *seed);
  report::ShrinkOptions effort{.threads = threads(*arguments), .budget = budget(*arguments)};
  const std::string text = arguments->required("breaks");
  const std::string path = arguments->positional();
  const auto load = [&] { return load_scenario(path, options); };
  const auto out = arguments->value("out");
  if (out) {
    report::claim_directory(*out, shrink_marker);
    report::refuse_inputs(*out, report::input_files(load()));
  }
  const report::RequestSubsets requests(load, text, "--breaks " + text);
  const report::SubsetRun whole = requests.run(requests.all());
  if (!whole.breaks || requests.arrivals().empty())
    return {assert_failed, fmt::format("{}: {} does not hold of all {} requests (it is {})\n",
                                       requests.scenario().name, text, requests.arrivals().size(),
                                       report::figure_text(whole.value))};
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  if (terminal) effort.progress = show;
  const report::Shrunk shrunk = report::shrink(
      requests.kinds(), [&](const report::Subset& subset) { return requests.run(subset).breaks; },
      effort);
  if (terminal) std::fputc('\n', stderr);
  const report::SubsetRun found = requests.run(shrunk.kept);
  Outcome outcome{success, report::shrink_text(requests, shrunk, found)};
  if (out) {
    write(*out, requests, shrunk, found);
    outcome.output +=
        fmt::format("\n`tokenline run {}/scenario.yaml` repeats it and exits 1\n", *out);
  }
  return outcome;
}

}  // namespace tokenline::cli
