#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "sim/report/run_log.hpp"

namespace tokenline::report {

inline constexpr std::uint32_t no_step = std::numeric_limits<std::uint32_t>::max();

/// A stretch of an instance's time in which it did one thing.
struct Cell {
  TimePoint from{};
  TimePoint to{};
  std::uint32_t step = no_step;       ///< Under way, the first to end; no_step when none is.
  bool host = false;                  ///< Of the step, its host time.
  Blocked waited = Blocked::nothing;  ///< What requests waited for that a decision knew of.

  [[nodiscard]] Duration length() const { return to - from; }
};

/// The time of an instance up to its last decision or step, without gaps, in cells that end
/// wherever a step or its host time begins or ends, or a decision is made. Of several steps in a
/// pipeline the one that ends first has the time.
[[nodiscard]] std::vector<Cell> timeline(const InstanceLog& log);

/// Index of the cell that `when` is in; their number behind the last.
[[nodiscard]] std::size_t cell_at(const std::vector<Cell>& cells, TimePoint when);

}  // namespace tokenline::report
