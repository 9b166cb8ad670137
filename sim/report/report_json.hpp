#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/report/latency_curves.hpp"
#include "sim/report/ledger_bands.hpp"
#include "sim/report/summary.hpp"
#include "sim/report/timeline.hpp"

namespace tokenline::report {

/// The data of report.html as JSON texts; html/README.md states their fields.
[[nodiscard]] std::string curves_json(const std::vector<ClassCurves>& classes);

/// The bands of every class. With `run`, also the requests behind each part, and their records.
[[nodiscard]] std::string ledger_json(const std::vector<ClassLedger>& classes,
                                      const RunResult* run);

/// `timeline` is finished.
[[nodiscard]] std::string timeline_json(const Timeline& timeline, const Scenario& scenario,
                                        const RunResult& run);

/// Targets of the classes, and every value of the scenario with its origin.
[[nodiscard]] std::string scenario_json(const Scenario& scenario);

/// An object of texts that are JSON already.
[[nodiscard]] std::string object_json(
    std::span<const std::pair<std::string_view, std::string>> members);

/// A JSON text of ours without its line breaks and indents.
[[nodiscard]] std::string compact_json(std::string_view text);

/// The double nearest to so many significant decimal digits.
[[nodiscard]] double rounded(double value, int digits);

}  // namespace tokenline::report
