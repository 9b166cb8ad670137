#pragma once

#include <string>
#include <string_view>

#include "sim/report/comparison.hpp"
#include "sim/report/timeline.hpp"

namespace tokenline::report {

/// The text of report.html for one run: one file that needs no network. `timeline` observed the run
/// and is finished. A pure function of the run; html/README.md says what it shows.
[[nodiscard]] std::string run_report(const Scenario& scenario, const RunResult& run,
                                     const Summary& summary, const Timeline& timeline);

/// The same for a study whose variants have their curves and ledgers (ComparisonOptions::report).
[[nodiscard]] std::string comparison_report(const Comparison& comparison);

/// The page around its data, a JSON text. No text of the data can end the script element it is in.
[[nodiscard]] std::string report_page(std::string_view json);

}  // namespace tokenline::report
