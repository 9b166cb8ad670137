#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sim/base/quantity.hpp"

namespace tokenline::traffic {

/// One point of a rate profile. The rate is reached at `at`: as a step, or at the end of a straight
/// line from the point before (`ramp`).
struct RatePoint {
  Seconds at;
  PerSecond rate;
  bool ramp = false;
};

/// An arrival rate r(t) that is piecewise linear in scenario time: zero before the first point, and
/// the last point's rate for ever after it. Its cumulative form Λ(t) = ∫ r from `start` to t is
/// inverted exactly (a quadratic per piece), so that unit-rate gaps become arrivals of rate r
/// without thinning: no draw is ever thrown away.
class RateProfile {
 public:
  /// Points in strictly ascending time, the first without ramp, rates ≥ 0; else InternalError.
  RateProfile(std::span<const RatePoint> points, Seconds start);

  /// A constant rate from `start` on.
  static RateProfile constant(PerSecond rate, Seconds start);

  /// Λ(t): the events expected in [start, t]; 0 before the start.
  [[nodiscard]] double expected(Seconds t) const;

  /// The first t ≥ start with Λ(t) ≥ `events`; none when the rate is zero before Λ gets there and
  /// stays so for ever.
  [[nodiscard]] std::optional<Seconds> time_of(double events) const;

 private:
  /// r(t) = rate + slope · (t − from), up to the `from` of the next piece; times in seconds.
  struct Piece {
    double from = 0.0;
    double rate = 0.0;
    double slope = 0.0;
    double before = 0.0;  ///< Λ at `from`.
  };
  [[nodiscard]] static double area(const Piece& piece, double length);

  std::vector<Piece> pieces_;
};

}  // namespace tokenline::traffic
