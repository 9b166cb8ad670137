#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/report/summary.hpp"

namespace tokenline::report {

/// One headline metric of a class when every price is lower, as calibrated, and higher by the
/// median error of its kernel's calibration.
struct BandRow {
  std::string class_name;
  std::string metric;  ///< "mean_ttft_ms".
  std::optional<double> low;
  std::optional<double> nominal;
  std::optional<double> high;
  /// The metric moves more than five times as much as the prices do, each relative to its nominal
  /// value: the service is close to saturation, and no calibration is good enough to tell the
  /// figure.
  bool knife_edge = false;
};

/// What `--band` found.
struct ErrorBand {
  double price_spread = 0.0;  ///< (high − low) / nominal of the prices, by GPU time.
  std::vector<BandRow> rows;
};

/// The serialized names of the metrics that have an interval.
[[nodiscard]] std::span<const std::string_view> band_metrics();

/// Compares three runs of one scenario: error_band -1, 0 and 1.
[[nodiscard]] ErrorBand error_band(const Summary& low, const Summary& nominal, const Summary& high);

/// The table under a run's report, and a warning where a metric is on a knife's edge.
[[nodiscard]] std::string band_text(const ErrorBand& band);

/// The same as a JSON object, for band.json.
[[nodiscard]] std::string band_json(const ErrorBand& band);

}  // namespace tokenline::report
