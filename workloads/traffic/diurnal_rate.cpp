#include "workloads/traffic/diurnal_rate.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sim/base/check.hpp"

namespace tokenline::traffic {
namespace {

constexpr double turn = 2.0 * std::numbers::pi;

}  // namespace

DiurnalRate::DiurnalRate(const DiurnalShape& shape, Seconds start)
    : shape_(shape),
      start_(start),
      events_of_period_(shape.mean.value() * shape.period.value()),
      before_start_(cumulative(periods_at(start))) {
  TOKENLINE_CHECK(events_of_period_ > 0.0 && shape.amplitude >= 0.0 && shape.amplitude <= 1.0,
                  "a diurnal rate of {} events a period and amplitude {}", events_of_period_,
                  shape.amplitude);
}

double DiurnalRate::cumulative(double periods) const {
  const double whole = std::floor(periods);
  const double phase = periods - whole;
  return whole + phase + shape_.amplitude / turn * std::sin(turn * phase);
}

double DiurnalRate::expected(Seconds t) const {
  if (t <= start_) return 0.0;
  return events_of_period_ * (cumulative(periods_at(t)) - before_start_);
}

std::optional<Seconds> DiurnalRate::time_of(double events) const {
  const double target = before_start_ + events / events_of_period_;
  const double whole = std::floor(target);
  const double periods = whole + phase_of(target - whole);
  return Seconds(
      std::max(start_.value(), shape_.peak_at.value() + periods * shape_.period.value()));
}

double DiurnalRate::phase_of(double share) const {
  double low = std::max(0.0, share - shape_.amplitude / turn);
  double high = std::min(1.0, share + shape_.amplitude / turn);
  double phase = share;
  // Why a bound: 60 bisections exhaust a double, and Newton's steps only do better.
  for (int i = 0; i < 100; ++i) {
    const double excess = cumulative(phase) - share;
    if (excess == 0.0) break;
    (excess > 0.0 ? high : low) = phase;
    const double slope = 1.0 + shape_.amplitude * std::cos(turn * phase);
    double next = phase - excess / slope;
    // A trough of rate zero gives no step, and a shallow one a step too far.
    if (!(next > low && next < high)) next = low + 0.5 * (high - low);
    if (next == phase) break;
    phase = next;
  }
  return phase;
}

}  // namespace tokenline::traffic
