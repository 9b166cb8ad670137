#pragma once

#include <string>
#include <vector>

#include "sim/engine/run.hpp"
#include "sim/report/figures.hpp"

namespace tokenline::report {

/// Where a latency went: milliseconds by Part, in the order of Part, zeros included. Both lists are
/// empty without a completed request.
struct Breakdown {
  std::vector<double> mean_ms;
  /// Of the one request at the nearest rank of P99, ⌈0.99 n⌉ (the first to arrive among equals), so
  /// that they sum to its latency.
  std::vector<double> p99_ms;
};

/// One part's share of a latency.
struct Share {
  Part part = Part::wait_step;
  double amount_ms = 0.0;
  double fraction = 0.0;
};

/// The parts that are not zero, largest first; equal ones in the order of Part.
[[nodiscard]] std::vector<Share> largest_parts(const std::vector<double>& by_part_ms);

/// What the measured requests of one class, or of all, met with.
struct ClassSummary {
  std::string name;
  bool has_targets = false;  ///< Some class in it states targets (`slo:`).
  Figures figures;           ///< README.md defines each.
  Breakdown ttft;            ///< The first ttft_part_count parts.
  Breakdown e2el;            ///< All parts.
};

/// "all" first, then every class in the order of the run. Linear in the number of records.
[[nodiscard]] std::vector<ClassSummary> summarize_classes(
    const RunResult& run, const std::optional<MeasureWindow>& window);

/// The keys of ClassSummary::figures.
[[nodiscard]] std::vector<std::string> class_figure_keys();

}  // namespace tokenline::report
