#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <ostream>

#include "sim/base/check.hpp"
#include "sim/config/reader.hpp"
#include "sim/engine/price_changes.hpp"
#include "sim/report/assertions.hpp"
#include "sim/report/band.hpp"
#include "sim/report/console.hpp"
#include "sim/report/html_report.hpp"
#include "sim/report/run_directory.hpp"
#include "sim/report/run_log.hpp"
#include "sim/report/steps_csv.hpp"
#include "sim/report/trace_json.hpp"
#include "tools/cli/arguments.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/gates.hpp"

namespace tokenline::cli {
namespace {

Usage run_usage() {
  Usage usage{
      .synopsis = "run SCENARIO [options]",
      .about =
          "Simulates a scenario until every request has ended and reports the metrics of\n"
          "`vllm bench serve`, where time went, and whether the run passes its audit.",
      .positional = "SCENARIO",
      .options = {{"set", "PATH=VALUE", "Override a key, e.g. engine.block_size=32; repeatable.",
                   true},
                  {"seed", "N", "Seed of every random draw; the same as --set seed=N.", false},
                  {"out", "DIR", "Write config.yaml, summary.json and requests.csv there.", false},
                  {"report", "FILE",
                   "Write everything as one HTML page, which opens without a network.", false},
                  {"band", "",
                   "Run also with every price lower and higher by the median error of its "
                   "calibration; print the smallest and largest of the headline metrics "
                   "(band.json).",
                   false},
                  {"trace", "",
                   "With --out: write trace.json, every step and request for Perfetto "
                   "(ui.perfetto.dev).",
                   false},
                  {"trace-limit", "SIZE",
                   "Leave out of it what happens after it has grown to this (100 MB).", false},
                  {"steps", "", "With --out: write steps.csv, a row per step.", false},
                  {"quiet", "", "Print nothing but failures.", false}},
      .epilogue =
          "Quantities carry units (512 ms, 35/s, 80 GB); `tokenline describe scenario` "
          "lists every\nkey with its default. Files that --set names (--set model=my/config.json) "
          "are "
          "relative to the\nscenario. DIR must be new, empty or an earlier run's of the same "
          "scenario. Without --out nothing\nis written.\n" +
          std::string(exit_codes())};
  std::ranges::copy(gate_options(), std::back_inserter(usage.options));
  return usage;
}

/// What to write of the steps of a run.
struct Observations {
  bool trace = false;
  bool steps = false;
  std::int64_t trace_limit = 100'000'000;

  [[nodiscard]] bool any() const { return trace || steps; }
};

Observations observations(const Arguments& arguments) {
  Observations wanted{.trace = arguments.has("trace"), .steps = arguments.has("steps")};
  if (wanted.any() && !arguments.has("out"))
    throw UsageError("--trace and --steps write into the directory of --out: name one");
  const auto limit = arguments.value("trace-limit");
  if (!limit) return wanted;
  if (!wanted.trace) throw UsageError("--trace-limit goes with --trace");
  const auto size = config::parse_bytes(*limit);
  if (!size || size->value() < 1e4 || size->value() > 1e12)
    throw UsageError(
        fmt::format("--trace-limit {}: expected a size from 10 kB to 1 TB, '100 MB'", *limit));
  wanted.trace_limit = static_cast<std::int64_t>(size->value());
  return wanted;
}

/// Writes them, and says where a trace ends before its run.
std::string write_observations(const std::string& out, const Observations& wanted,
                               const report::RunLog& log, const RunResult& run) {
  if (wanted.steps)
    report::write_file(out + "/steps.csv",
                       [&](std::ostream& file) { report::write_steps_csv(file, log, run); });
  if (!wanted.trace) return {};
  report::TraceExtent extent;
  report::write_file(out + "/trace.json", [&](std::ostream& file) {
    extent = report::write_trace_json(file, log, run, wanted.trace_limit);
  });
  if (extent.complete) return {};
  return fmt::format("trace.json has reached its limit: it ends at {:.6g} s of {:.6g} s\n",
                     to_seconds(extent.until.time_since_epoch()).value(),
                     to_seconds(run.end.time_since_epoch()).value());
}

/// The same scenario at one end of the calibration's error.
report::Summary at_band(const std::string& path, ScenarioOptions options, double error_band) {
  options.error_band = error_band;
  Scenario scenario = load_scenario(path, options);
  const RunResult result = run(scenario);
  report::Summary summary = report::summarize(scenario, result);
  TOKENLINE_CHECK(summary.audit.passed, "with other prices:\n{}",
                  report::audit_verdict(summary.audit));
  return summary;
}

/// The files beside those of `--out` must be neither inputs nor one another.
void check_files(const std::optional<std::string>& page, const Gates& gates,
                 const std::optional<std::string>& out, const Scenario& scenario) {
  const std::set<std::string> data = report::input_files(scenario);
  std::vector<std::string> inputs(data.begin(), data.end());
  inputs.push_back(scenario.file);
  if (const auto baseline = gates.baseline_file()) inputs.push_back(*baseline);
  std::vector<std::string> outputs;
  for (const auto& file : {page, gates.junit()})
    if (file) outputs.push_back(*file);
  report::refuse_to_overwrite(outputs, inputs);
  if (out && !outputs.empty())
    std::ranges::copy(report::run_files(*out), std::back_inserter(outputs));
  report::refuse_to_overwrite(outputs, {});
}

/// What will not do what it seems to, located.
std::string warnings(const Scenario& scenario) {
  std::string out;
  for (const std::size_t i : idle_brownouts(scenario)) {
    const config::Location& where = scenario.resolved.find("faults")->items[i].where;
    out += fmt::format(
        "{}:{}:{}: warning: faults[{}]: no replica and no KV transfer of this scenario crosses {}: "
        "the brown-out changes nothing\n",
        where.file, where.line, where.column, i, hw::name(scenario.faults[i].brownout));
  }
  return out;
}

/// Makes the directory of the results, in which nothing stands that the run reads.
void claim_results(const std::string& out, const Gates& gates, const Scenario& scenario) {
  std::set<std::string> inputs = report::input_files(scenario);
  if (const auto baseline = gates.baseline_file())
    inputs.insert(std::filesystem::weakly_canonical(*baseline).string());
  report::claim_run_directory(out, scenario.name);
  report::refuse_inputs(out, inputs);
}

}  // namespace

Outcome run_command(const std::vector<std::string>& words) {
  const auto arguments = parse(run_usage(), words);
  if (!arguments) return {success, help_text(run_usage())};
  ScenarioOptions options{.overrides = arguments->values("set")};
  if (const auto seed = arguments->value("seed")) options.overrides.push_back("seed=" + *seed);
  Scenario scenario = load_scenario(arguments->positional(), options);
  const auto conditions = report::read_conditions(scenario);
  const auto out = arguments->value("out");
  const Observations wanted = observations(*arguments);
  const Gates gates(*arguments, scenario);
  if (out) claim_results(*out, gates, scenario);
  const auto page = arguments->value("report");
  check_files(page, gates, out, scenario);

  report::RunLog log;
  report::Timeline timeline;
  RunObservers observers;
  if (wanted.any()) observers.add(log);
  if (page) observers.add(timeline);
  const RunResult result = run(scenario, probes(scenario.observed), observers.if_any());
  report::Summary summary = report::summarize(scenario, result);
  summary.asserts = report::check(conditions, summary);
  if (out) report::write_run(*out, scenario, result, summary);
  if (page) {
    timeline.finish(result);
    report::write_file(*page, report::run_report(scenario, result, summary, timeline));
  }

  Outcome outcome{success, report::console_text(summary), warnings(scenario)};
  if (wanted.any()) outcome.output += write_observations(*out, wanted, log, result);
  if (arguments->has("band")) {
    const report::ErrorBand band =
        report::error_band(at_band(arguments->positional(), options, -1.0), summary,
                           at_band(arguments->positional(), options, 1.0));
    outcome.output += report::band_text(band);
    if (out) report::write_file(*out + "/band.json", report::band_json(band));
  }
  const Gates::Result gated = gates.judge(scenario, conditions, summary);
  if (arguments->has("quiet")) {
    outcome.output = report::failed_asserts(summary);
    if (!summary.audit.passed) outcome.output += report::audit_verdict(summary.audit);
  }
  outcome.output += arguments->has("quiet") ? gated.failures : gated.text;
  if (!summary.audit.passed)
    outcome.exit_code = our_bug;
  else if (!summary.asserts_passed() || !gated.passed)
    outcome.exit_code = assert_failed;
  return outcome;
}

}  // namespace tokenline::cli
