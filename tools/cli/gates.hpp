#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/report/baseline.hpp"
#include "sim/report/test_report.hpp"
#include "tools/cli/arguments.hpp"

namespace tokenline::cli {

/// What `run` has for CI: --junit, --github, --baseline, --tolerance, --fail-on-improvement.
[[nodiscard]] std::vector<Option> gate_options();

/// Those options as given.
class Gates {
 public:
  /// Reads the baseline, before anything is written over it. Throws UsageError and ConfigError.
  Gates(const Arguments& arguments, const Scenario& scenario);

  /// The file of --junit, if any.
  [[nodiscard]] const std::optional<std::string>& junit() const { return junit_; }
  /// The baseline's summary.json, if any.
  [[nodiscard]] std::optional<std::string> baseline_file() const;

  struct Result {
    std::string
        failures;      ///< What of it is to be said in any case: annotations, a failed baseline.
    std::string text;  ///< All that is to be printed.
    bool passed = true;
  };
  /// Holds a run against the baseline and writes --junit. Throws OutputError.
  [[nodiscard]] Result judge(const Scenario& scenario,
                             const std::vector<report::Condition>& conditions,
                             const report::Summary& summary) const;

 private:
  std::optional<std::string> junit_;
  bool github_ = false;
  bool better_fails_ = false;
  std::optional<report::Baseline> baseline_;
  std::vector<report::Tolerance> tolerances_;
};

}  // namespace tokenline::cli
