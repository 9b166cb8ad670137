#include "sim/report/test_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/report/console.hpp"
#include "sim/report/metric.hpp"

namespace tokenline::report {
namespace {

/// A place that CI systems can open: an override stands in no file.
config::Location in_a_file(config::Location where, const Scenario& scenario) {
  return where.file.starts_with("--set ") ? config::Location{scenario.file, 1, 1} : where;
}

TestCase of_condition(const Scenario& scenario, const Condition& condition, std::size_t i,
                      const Summary& summary) {
  const AssertResult& result = summary.asserts[i];
  TestCase verdict{.group = "assert",
                   .name = condition.text,
                   .outcome = result.passed ? TestCase::Outcome::passed : TestCase::Outcome::failed,
                   .message = {},
                   .details = {},
                   .where = in_a_file(condition_place(scenario, i), scenario)};
  if (result.passed) return verdict;
  const std::string_view unit = unit_of(condition.metric);
  const std::string value =
      result.value ? fmt::format("{}{}{}", figure_text(result.value), unit.empty() ? "" : " ", unit)
                   : "without a value";
  verdict.message =
      fmt::format("{} is {}; the limit is {}", condition.metric, value, condition.text);
  return verdict;
}

TestCase of_audit(const Scenario& scenario, const AuditReport& audit) {
  TestCase verdict{.group = "audit",
                   .name = "audit",
                   .outcome = audit.passed ? TestCase::Outcome::passed : TestCase::Outcome::broken,
                   .message = {},
                   .details = {},
                   .where = {scenario.file, 1, 1}};
  if (audit.passed) return verdict;
  const auto broken = std::ranges::count(audit.checks, false, &AuditCheck::passed);
  verdict.message =
      fmt::format("{} of {} checks of the simulation do not hold", broken, audit.checks.size());
  verdict.details = audit_verdict(audit);
  return verdict;
}

TestCase of_change(const Scenario& scenario, const BaselineComparison& baseline,
                   const MetricChange& change) {
  TestCase verdict{.group = "baseline",
                   .name = change.metric,
                   .outcome = TestCase::Outcome::passed,
                   .message = {},
                   .details = {},
                   .where = {scenario.file, 1, 1}};
  if (change.verdict == MetricChange::Verdict::within) return verdict;
  verdict.outcome = baseline.fails(change) ? TestCase::Outcome::failed : TestCase::Outcome::better;
  verdict.message = fmt::format("{} is {}", change.metric, change_text(change));
  for (const std::string& sentence : baseline.differences)
    verdict.details += fmt::format("not the same: {}\n", sentence);
  return verdict;
}

/// Text in XML 1.0; a line break in an attribute would become a space without its number.
std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += "&#10;";
        break;
      default:
        out += c;
    }
  return out;
}

std::string place_text(const config::Location& where) {
  return fmt::format("{}:{}", where.file, where.line);
}

std::string case_xml(const TestSuite& suite, const TestCase& verdict) {
  std::string out = fmt::format(R"(    <testcase name="{}" classname="{}" time="0")",
                                xml_text(verdict.name), xml_text(suite.name + '.' + verdict.group));
  if (verdict.outcome == TestCase::Outcome::passed) return out + "/>\n";
  out += ">\n";
  if (verdict.outcome == TestCase::Outcome::better)
    return out + fmt::format("      <system-out>better: {}</system-out>\n    </testcase>\n",
                             xml_text(verdict.message));
  const std::string_view element =
      verdict.outcome == TestCase::Outcome::broken ? "error" : "failure";
  return out + fmt::format("      <{0} message=\"{1}\" type=\"{2}\">{3}</{0}>\n    </testcase>\n",
                           element, xml_text(verdict.message), xml_text(verdict.group),
                           xml_text(fmt::format("{}: {}\n{}", place_text(verdict.where),
                                                verdict.message, verdict.details)));
}

std::ptrdiff_t count_of(const TestSuite& suite, TestCase::Outcome outcome) {
  return std::ranges::count(suite.cases, outcome, &TestCase::outcome);
}

std::string suite_xml(const TestSuite& suite) {
  std::string out = fmt::format(
      "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"0\" "
      "time=\"0\" "
      "file=\"{}\">\n    <properties>\n",
      xml_text(suite.name), suite.cases.size(), count_of(suite, TestCase::Outcome::failed),
      count_of(suite, TestCase::Outcome::broken), xml_text(suite.file));
  out += fmt::format("      <property name=\"seed\" value=\"{}\"/>\n", suite.seed);
  out += fmt::format("      <property name=\"config_sha256\" value=\"{}\"/>\n    </properties>\n",
                     suite.config_sha256);
  for (const TestCase& verdict : suite.cases) out += case_xml(suite, verdict);
  return out + "  </testsuite>\n";
}

/// The escapes of a workflow command's message, and of its properties.
std::string command_text(std::string_view text, bool property) {
  std::string out;
  for (const char c : text) {
    const bool escaped = c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ','));
    out += escaped ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return out;
}

std::string annotation(const TestSuite& suite, const TestCase& verdict) {
  const std::string_view level = verdict.outcome == TestCase::Outcome::better ? "notice" : "error";
  const bool broken = verdict.outcome == TestCase::Outcome::broken;
  return fmt::format("::{} file={},line={},title={}::{}\n", level,
                     command_text(verdict.where.file, true), verdict.where.line,
                     command_text(fmt::format("{}: {}", suite.name, verdict.name), true),
                     command_text(broken ? verdict.details : verdict.message, false));
}

}  // namespace

TestSuite suite_of(const Scenario& scenario, const std::vector<Condition>& conditions,
                   const Summary& summary, const BaselineComparison* baseline) {
  TestSuite suite{.name = summary.scenario,
                  .file = scenario.file,
                  .seed = summary.seed,
                  .config_sha256 = summary.config_sha256,
                  .cases = {}};
  for (std::size_t i = 0; i < conditions.size(); ++i)
    suite.cases.push_back(of_condition(scenario, conditions[i], i, summary));
  suite.cases.push_back(of_audit(scenario, summary.audit));
  if (baseline != nullptr)
    for (const MetricChange& change : baseline->metrics)
      suite.cases.push_back(of_change(scenario, *baseline, change));
  return suite;
}

std::string junit_xml(std::span<const TestSuite> suites) {
  std::size_t tests = 0;
  std::ptrdiff_t failures = 0;
  std::ptrdiff_t errors = 0;
  std::string body;
  for (const TestSuite& suite : suites) {
    tests += suite.cases.size();
    failures += count_of(suite, TestCase::Outcome::failed);
    errors += count_of(suite, TestCase::Outcome::broken);
    body += suite_xml(suite);
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"tokenline\" tests=\"{}\" "
      "failures=\"{}\" errors=\"{}\" time=\"0\">\n{}</testsuites>\n",
      tests, failures, errors, body);
}

std::string github_annotations(std::span<const TestSuite> suites) {
  std::string out;
  for (const TestSuite& suite : suites)
    for (const TestCase& verdict : suite.cases)
      if (verdict.outcome != TestCase::Outcome::passed) out += annotation(suite, verdict);
  return out;
}

}  // namespace tokenline::report
