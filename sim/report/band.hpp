#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/report/summary.hpp"

namespace tokenline::report {

/// One headline metric of a class over three runs: with every price lower, as calibrated, and
/// higher by the median error of its kernel's calibration.
struct BandRow {
  std::string class_name;
  std::string metric;             ///< "mean_ttft_ms".
  std::optional<double> low;      ///< The smallest of the three values, whichever run it is of.
  std::optional<double> nominal;  ///< With the prices as calibrated.
  std::optional<double> high;     ///< The largest of the three.
  /// The larger move of one side, relative to the nominal value, is more than five times that of
  /// the prices; or one run has a value and another has none, or has zero.
  bool knife_edge = false;
};

/// What `--band` found.
struct ErrorBand {
  double prices_lower = 0.0;   ///< Share by which prices fell, by GPU time; at most 1.
  double prices_higher = 0.0;  ///< Share by which they rose.
  /// Share of the mean TTFT that requests of all classes wait for a slot, KV blocks or tokens of a
  /// step, or for blocks again after a preemption: the largest of the three runs.
  double queued = 0.0;
  std::vector<BandRow> rows;  ///< Of metrics that any of the runs has.
};

/// The serialized names of the metrics that have an interval.
[[nodiscard]] std::span<const std::string_view> band_metrics();

/// Compares three runs of one scenario: error_band -1, 0 and 1.
[[nodiscard]] ErrorBand error_band(const Summary& low, const Summary& nominal, const Summary& high);

/// The table under a run's report, and a warning where a metric is on a knife's edge: which ones
/// count requests that meet a target, and whether the others are of a service close to saturation.
[[nodiscard]] std::string band_text(const ErrorBand& band);

/// The same as a JSON object, for band.json.
[[nodiscard]] std::string band_json(const ErrorBand& band);

}  // namespace tokenline::report
