#include "sim/report/why/why.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/check.hpp"
#include "sim/report/assertions.hpp"
#include "sim/report/console.hpp"
#include "sim/report/metric.hpp"
#include "sim/report/why/recorded_run.hpp"
#include "tools/cli/arguments.hpp"
#include "tools/cli/commands.hpp"

namespace tokenline::cli {
namespace {

Usage why_usage() {
  return {
      .synopsis = "why RUN_DIR | SCENARIO [options]",
      .about =
          "Explains the tail of a latency: what P99 - P50 is made of, which requests, steps or\n"
          "crashes took the time, on which replica, and when. A directory that `run --out`\n"
          "wrote is simulated again, and must come out as it says.",
      .positional = "RUN_DIR or SCENARIO",
      .options = {{"metric", "NAME", "ttft (the default), tpot, itl or e2el.", false},
                  {"class", "NAME", "Requests of one class; all together without.", false},
                  {"set", "PATH=VALUE",
                   "Override a key of a scenario, e.g. engine.block_size=32; repeatable.", true},
                  {"seed", "N", "Seed of every random draw; the same as --set seed=N.", false},
                  {"json", "", "Print one JSON object, times in whole nanoseconds.", false}},
      .epilogue = std::string(exit_codes())};
}

report::Latency latency(const Arguments& arguments) {
  constexpr std::array all{report::Latency::ttft, report::Latency::tpot, report::Latency::itl,
                           report::Latency::e2el};
  const std::string word = arguments.value("metric").value_or("ttft");
  std::vector<std::string> known;
  for (const report::Latency one : all) {
    if (name(one) == word) return one;
    known.emplace_back(name(one));
  }
  throw UsageError(unknown("metric", word, known));
}

std::optional<std::uint32_t> class_index(const Arguments& arguments, const Scenario& scenario) {
  const auto word = arguments.value("class");
  if (!word || *word == "all") return {};
  std::vector<std::string> known = report::class_names(scenario);
  const auto found = std::ranges::find(known, *word);
  if (found != known.end()) return static_cast<std::uint32_t>(found - known.begin());
  known.emplace_back("all");
  throw UsageError(unknown("class", *word, known));
}

ScenarioOptions options(const Arguments& arguments, bool recorded) {
  ScenarioOptions options{.overrides = arguments.values("set")};
  if (const auto seed = arguments.value("seed")) options.overrides.push_back("seed=" + *seed);
  if (recorded && !options.overrides.empty())
    throw UsageError(
        fmt::format("'{0}' is a run as it was: --set and --seed go with a scenario\n"
                    "  hint: {0}/config.yaml is its scenario",
                    arguments.positional()));
  return options;
}

}  // namespace

Outcome why_command(const std::vector<std::string>& words) {
  const auto arguments = parse(why_usage(), words);
  if (!arguments) return {success, help_text(why_usage())};
  report::Question question{.latency = latency(*arguments), .class_index = {}};
  const std::string& path = arguments->positional();
  const bool recorded = report::is_run_directory(path);
  Scenario scenario =
      load_scenario(recorded ? path + "/config.yaml" : path, options(*arguments, recorded));
  question.class_index = class_index(*arguments, scenario);
  const auto conditions = report::read_conditions(scenario);

  report::RunLog log;
  const RunResult result = run(scenario, probes(scenario.observed), &log);
  report::Summary summary = report::summarize(scenario, result);
  summary.asserts = report::check(conditions, summary);
  if (recorded) {
    report::require_recorded(path + "/summary.json", summary);
    report::require_recorded_requests(path + "/requests.csv", result);
  }
  TOKENLINE_CHECK(summary.audit.passed, "{}", report::audit_verdict(summary.audit));
  const report::Evidence evidence(log, result);
  const report::Explanation explanation = report::explain(evidence, question);
  return {success, arguments->has("json") ? report::why_json(explanation, result)
                                          : report::why_text(explanation, result)};
}

}  // namespace tokenline::cli
