#pragma once

#include <chrono>
#include <cstdint>

#include "sim/base/quantity.hpp"

namespace tokenline {

/// Simulated time: int64 nanoseconds (292 years) on a clock of its own, so that a simulated instant
/// can never meet a wall-clock one. There is no now(): time belongs to a Simulation.
struct SimClock {
  using duration = std::chrono::duration<std::int64_t, std::nano>;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<SimClock>;
  static constexpr bool is_steady = false;
};
using Duration = SimClock::duration;
using TimePoint = SimClock::time_point;

/// Rounds to the nearest nanosecond (halves up). The only way from a real number of seconds to
/// simulated time: NaN, negative and too large values throw InternalError, since every input was
/// checked when it was read.
[[nodiscard]] Duration to_duration(Seconds seconds);

/// The nearest double, but for one rounding of the factor; to_duration() of it gives the same
/// duration up to 2^50 ns (13 days).
[[nodiscard]] constexpr Seconds to_seconds(Duration duration) {
  return Seconds(static_cast<double>(duration.count()) * 1e-9);
}

/// A duration in milliseconds, for serialized fields that name the unit.
[[nodiscard]] constexpr double to_milliseconds(Duration duration) {
  return static_cast<double>(duration.count()) * 1e-6;
}

}  // namespace tokenline
