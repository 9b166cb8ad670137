#include "tools/cli/gates.hpp"

#include <span>

#include "sim/report/run_directory.hpp"

namespace tokenline::cli {

std::vector<Option> gate_options() {
  return {
      {"junit", "FILE", "Write asserts, audit and baseline as test cases of JUnit's XML.", false},
      {"github", "", "Print a workflow command of GitHub Actions for each that fails.", false},
      {"baseline", "SUMMARY|DIR",
       "Hold the metrics against an earlier run's summary.json; exit code 1 when one is worse.",
       false},
      {"tolerance", "[METRIC=]AMOUNT",
       "With --baseline: what a metric may differ by, 5%, p99_ttft=10%, 'p99_ttft(chat)=20 ms'; "
       "0 unless given; repeatable.",
       true},
      {"fail-on-improvement", "", "With --baseline: a better metric fails too.", false}};
}

Gates::Gates(const Arguments& arguments, const Scenario& scenario)
    : junit_(arguments.value("junit")),
      github_(arguments.has("github")),
      better_fails_(arguments.has("fail-on-improvement")) {
  const auto baseline = arguments.value("baseline");
  if (!baseline && (better_fails_ || arguments.has("tolerance")))
    throw UsageError("--tolerance and --fail-on-improvement go with --baseline: name one");
  for (const std::string& text : arguments.values("tolerance"))
    tolerances_.push_back(report::read_tolerance(scenario, text));
  if (baseline) baseline_ = report::load_baseline(*baseline);
}

std::optional<std::string> Gates::baseline_file() const {
  return baseline_ ? std::optional(baseline_->file) : std::nullopt;
}

Gates::Result Gates::judge(const Scenario& scenario,
                           const std::vector<report::Condition>& conditions,
                           const report::Summary& summary) const {
  Result result;
  std::optional<report::BaselineComparison> comparison;
  if (baseline_) {
    comparison = report::compare_to_baseline(*baseline_, summary, tolerances_);
    comparison->better_fails = better_fails_;
    result.passed = comparison->passed();
    result.text = report::baseline_text(*comparison);
    if (!result.passed) result.failures = result.text;
  }
  const report::TestSuite suite =
      report::suite_of(scenario, conditions, summary, comparison ? &*comparison : nullptr);
  const std::span<const report::TestSuite> suites(&suite, 1);
  if (junit_) report::write_file(*junit_, report::junit_xml(suites));
  if (github_) {
    const std::string annotations = report::github_annotations(suites);
    result.text += annotations;
    result.failures += annotations;
  }
  return result;
}

}  // namespace tokenline::cli
