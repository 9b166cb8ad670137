#pragma once

#include <span>

#include "sim/base/quantity.hpp"

namespace tokenline::calib::microbench {

/// What repeated timings of one call say.
struct Timing {
  Seconds median;
  Seconds low;     ///< First quartile.
  Seconds high;    ///< Third quartile.
  double drift{};  ///< Median of the last third over that of the first, less one.
  /// Whether the middle halves of the first and last third lie apart: clocks or temperature moved
  /// while the call was measured. Never of fewer than nine timings.
  bool drifted = false;

  /// Distance of the quartiles over the median.
  [[nodiscard]] double spread() const { return (high - low) / median; }
};

/// Quantiles between two timings are interpolated. `timings` are in the order of their
/// measurement. Contract: not empty, all above zero.
[[nodiscard]] Timing timing(std::span<const Seconds> timings);

}  // namespace tokenline::calib::microbench
