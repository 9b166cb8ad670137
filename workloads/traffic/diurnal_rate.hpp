#pragma once

#include <optional>

#include "sim/base/quantity.hpp"

namespace tokenline::traffic {

/// A rate that swings with the hour: mean · (1 + amplitude · cos 2π(t − peak_at)/period).
struct DiurnalShape {
  PerSecond mean{1.0};
  double amplitude = 0.0;  ///< 0 … 1; the peak is (1 + a)/(1 − a) times the trough.
  Seconds period{1.0};
  Seconds peak_at{0.0};
};

/// A DiurnalShape from `start` on, for ever. Its cumulative form Λ(t) = ∫ r from `start` to t has a
/// closed form; its inverse is Kepler's equation, solved by Newton steps inside a bracket until no
/// double is nearer. What remains is the rounding of Λ itself, some 10^-16 of a period for each
/// period since the peak, divided by the relative rate there.
class DiurnalRate {
 public:
  /// Mean and period above zero, amplitude 0 … 1; else InternalError.
  DiurnalRate(const DiurnalShape& shape, Seconds start);

  /// Λ(t): the events expected in [start, t]; 0 before the start.
  [[nodiscard]] double expected(Seconds t) const;
  /// The t ≥ start with Λ(t) = `events`.
  [[nodiscard]] std::optional<Seconds> time_of(double events) const;

 private:
  /// Λ in units of a period's events, counted from the peak: x + a/2π · sin 2πx at x periods.
  [[nodiscard]] double cumulative(double periods) const;
  /// The x in [0, 1] with cumulative(x) = `share` of a period's events.
  [[nodiscard]] double phase_of(double share) const;
  [[nodiscard]] double periods_at(Seconds t) const {
    return (t.value() - shape_.peak_at.value()) / shape_.period.value();
  }

  DiurnalShape shape_;
  Seconds start_;
  double events_of_period_;
  double before_start_;  ///< cumulative() at the start.
};

}  // namespace tokenline::traffic
