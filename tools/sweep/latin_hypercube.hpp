#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tokenline::sweep {

/// The values that an axis of a Latin hypercube is spread over, in the unit that they are written
/// in.
struct AxisRange {
  double min = 0.0;
  double max = 1.0;
  bool log = false;    ///< Strata of equal ratio instead of equal width.
  bool whole = false;  ///< Whole numbers, `max` included.
  std::string unit;    ///< "/s", " ms" with its blank; empty for plain numbers.
};

/// Where stratum `stratum` of `count` begins, and the one before it ends. Of whole numbers the
/// last one ends at max + 1, so that each of them has the same share.
[[nodiscard]] double stratum_edge(const AxisRange& range, std::size_t stratum, std::size_t count);

/// One value for each of `count` points, as text (McKay, Beckman and Conover, Technometrics
/// 21(2), 1979): every one of `count` strata of the range holds exactly one, at a random place of
/// it, in random order. Whole numbers are rounded down after that. A function of the seed, the name
/// of the axis and the range: other axes change nothing.
[[nodiscard]] std::vector<std::string> spread(const AxisRange& range, std::string_view axis,
                                              std::uint64_t seed, std::size_t count);

}  // namespace tokenline::sweep
