#pragma once

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "sim/config/node.hpp"
#include "sim/engine/run.hpp"
#include "sim/report/assertions.hpp"
#include "sim/report/comparison.hpp"
#include "sim/report/metric.hpp"
#include "sim/report/requests_csv.hpp"
#include "tests/support/scratch.hpp"

namespace tokenline::scenario_test {

/// Overrides as `--set` takes them.
using Overrides = std::vector<std::string>;

/// A file of the repository.
inline std::string source(const std::string& path) { return TOKENLINE_SOURCE_DIR "/" + path; }

/// A run with everything that is said of it.
struct Ran {
  report::Summary summary;
  std::string requests_csv;

  /// A metric that must have a value ("chat.p99_ttft_ms").
  [[nodiscard]] double operator[](const std::string& metric) const {
    const auto value = report::metric(summary, metric).value;
    INFO(metric);
    REQUIRE(value.has_value());
    return *value;
  }
};

/// The first line in which two texts differ; empty when they are equal.
inline std::string difference(const std::string& a, const std::string& b) {
  if (a == b) return {};
  std::istringstream first(a);
  std::istringstream second(b);
  std::string one;
  std::string two;
  do {
    if (!std::getline(first, one)) one = "(end)";
    if (!std::getline(second, two)) two = "(end)";
  } while (one == two && one != "(end)");
  return "'" + one + "' and '" + two + "'";
}

/// Runs a scenario, which must pass its audit.
inline Ran run_scenario(Scenario scenario) {
  INFO(scenario.file);
  const RunResult result = run(scenario);
  Ran ran{report::summarize(scenario, result), {}};
  ran.summary.asserts = report::check(report::read_conditions(scenario), ran.summary);
  for (const AuditCheck& check : ran.summary.audit.checks) {
    INFO(check.id << " " << check.name << ": " << check.details);
    REQUIRE(check.passed);
  }
  std::ostringstream csv;
  report::write_requests_csv(csv, result);
  ran.requests_csv = csv.str();
  return ran;
}

/// Runs a file of the repository.
inline Ran run_file(const std::string& path, const Overrides& overrides = {}) {
  return run_scenario(load_scenario(source(path), {overrides}));
}

/// Runs a scenario given as text.
inline Ran run_text(const std::string& text, const Overrides& overrides = {}) {
  return run_scenario(parse_scenario("text.yaml", text, {overrides}));
}

/// The columns of requests.csv that are named, row by row.
inline std::string columns_of(const std::string& csv, const std::vector<std::string>& names) {
  const auto split = [](const std::string& line) {
    std::vector<std::string> fields;
    std::istringstream in(line);
    for (std::string field; std::getline(in, field, ',');) fields.push_back(field);
    return fields;
  };
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> header = split(line);
  std::string out;
  while (std::getline(lines, line)) {
    const std::vector<std::string> fields = split(line);
    for (const std::string& name : names) {
      const auto at = std::ranges::find(header, name) - header.begin();
      out += fields.at(static_cast<std::size_t>(at)) + ",";
    }
    out += "\n";
  }
  return out;
}

/// Runs the built `tokenline`, which must succeed and say nothing on standard error. Returns what
/// it printed.
inline std::string execute(const Scratch& scratch, const std::string& arguments) {
  const std::string printed = scratch / "printed";
  const std::string complaints = scratch / "complaints";
  const std::string command = fmt::format("cd '{}' && '{}' {} >'{}' 2>'{}'", scratch.path(),
                                          TOKENLINE_BINARY, arguments, printed, complaints);
  const int status = std::system(command.c_str());
  INFO(command << "\n" << config::read_file(complaints));
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) == 0);
  REQUIRE(config::read_file(complaints).empty());
  return config::read_file(printed);
}

/// Every regular file below a folder, relative to it, sorted.
inline std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      files.push_back(entry.path().lexically_relative(folder).generic_string());
  std::ranges::sort(files);
  return files;
}

/// Two folders must hold the same files with the same bytes.
inline void require_same_files(const std::string& first, const std::string& second) {
  const std::vector<std::string> files = files_below(first);
  REQUIRE_FALSE(files.empty());
  REQUIRE(files == files_below(second));
  for (const std::string& file : files) {
    INFO(file);
    REQUIRE(difference(config::read_file(first + "/" + file),
                       config::read_file(second + "/" + file)) == "");
  }
}

/// The variants of a study of the repository by name, run once.
class StudyRuns {
 public:
  explicit StudyRuns(const std::string& file)
      : study_(report::load_study(source(file))),
        comparison_(report::compare(study_, {.threads = 2, .out = {}})) {}

  /// A metric that must have a value.
  [[nodiscard]] double operator()(const std::string& variant, const std::string& metric) const {
    const auto found =
        std::ranges::find(comparison_.variants, variant, &report::VariantResult::name);
    INFO(variant << " " << metric);
    REQUIRE(found != comparison_.variants.end());
    const auto value = report::metric(found->summary, metric).value;
    REQUIRE(value.has_value());
    return *value;
  }

 private:
  report::Study study_;
  report::Comparison comparison_;
};

}  // namespace tokenline::scenario_test
