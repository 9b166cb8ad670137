#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/config/diagnostic.hpp"
#include "sim/report/assertions.hpp"
#include "sim/report/baseline.hpp"

namespace tokenline::report {

/// One thing that was checked of a run, as CI systems show it.
struct TestCase {
  enum class Outcome {
    passed,
    better,  ///< Passed, and worth a line: a metric beyond its tolerance on the good side.
    failed,
    broken,  ///< A failed audit: our bug, not a property of what was simulated.
  };

  std::string group;  ///< "assert", "audit" or "baseline".
  std::string name;   ///< What was checked, "chat.p99_ttft_ms < 500".
  Outcome outcome = Outcome::passed;
  std::string message;  ///< One line that says value and limit; empty where it passed.
  std::string details;  ///< Further lines, or nothing.
  config::Location where;
};

/// The verdicts of one run, under the scenario's name.
struct TestSuite {
  std::string name;
  std::string file;
  std::uint64_t seed = 0;
  std::string config_sha256;
  std::vector<TestCase> cases;
};

/// Every condition at its line, then the audit, then every metric that is held against a baseline.
[[nodiscard]] TestSuite suite_of(const Scenario& scenario, const std::vector<Condition>& conditions,
                                 const Summary& summary, const BaselineComparison* baseline);

/// A report in JUnit's XML, as Jenkins, GitLab and GitHub's actions read it and Jenkins' schema
/// junit-10.xsd has it: a test suite per run, a test case per verdict, a failed audit as an error.
/// Times are 0: nothing here reads a clock.
[[nodiscard]] std::string junit_xml(std::span<const TestSuite> suites);

/// Workflow commands of GitHub Actions, one line for each verdict that did not simply pass:
/// `::error file=…,line=…,title=…::…`, `::notice …` for what is better. Escaped as
/// @actions/core does it: % CR LF everywhere, in properties also ':' and ','.
[[nodiscard]] std::string github_annotations(std::span<const TestSuite> suites);

}  // namespace tokenline::report
