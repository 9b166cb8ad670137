#include "workloads/traffic/rate_profile.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "sim/base/check.hpp"

namespace tokenline::traffic {

RateProfile::RateProfile(std::span<const RatePoint> points, Seconds start) {
  TOKENLINE_CHECK(!points.empty() && !points.front().ramp, "a rate profile begins with a step");
  pieces_.push_back({std::min(start, points.front().at).value(), 0.0, 0.0, 0.0});
  for (std::size_t i = 0; i < points.size(); ++i) {
    const RatePoint& point = points[i];
    TOKENLINE_CHECK(point.rate.value() >= 0.0 && (i == 0 || points[i - 1].at < point.at),
                    "rate profile point {} is out of order or negative", i);
    const double at = point.at.value();
    Piece& last = pieces_.back();
    if (point.ramp) last.slope = (point.rate.value() - last.rate) / (at - last.from);
    pieces_.push_back({at, point.rate.value(), 0.0, 0.0});
  }
  // Cut off what lies before the start, then sum up.
  const double begin = start.value();
  const auto first = std::ranges::upper_bound(pieces_, begin, {}, &Piece::from) - 1;
  first->rate += first->slope * (begin - first->from);
  first->from = begin;
  pieces_.erase(pieces_.begin(), first);
  for (std::size_t i = 1; i < pieces_.size(); ++i)
    pieces_[i].before =
        pieces_[i - 1].before + area(pieces_[i - 1], pieces_[i].from - pieces_[i - 1].from);
}

RateProfile RateProfile::constant(PerSecond rate, Seconds start) {
  const RatePoint point{start, rate, false};
  return {std::span(&point, 1), start};
}

double RateProfile::area(const Piece& piece, double length) {
  return (piece.rate + 0.5 * piece.slope * length) * length;
}

double RateProfile::expected(Seconds t) const {
  if (t.value() <= pieces_.front().from) return 0.0;
  const auto piece = std::ranges::upper_bound(pieces_, t.value(), {}, &Piece::from) - 1;
  return piece->before + area(*piece, t.value() - piece->from);
}

std::optional<Seconds> RateProfile::time_of(double events) const {
  if (events <= 0.0) return Seconds(pieces_.front().from);
  // The last piece that begins below `events`: a flat stretch at exactly `events` comes after it.
  const auto piece = std::ranges::lower_bound(pieces_, events, {}, &Piece::before) - 1;
  const double missing = events - piece->before;
  // missing = rate · x + slope · x²/2, solved without cancellation. Rounding may take the
  // discriminant of a ramp to zero just below it.
  const double root =
      std::sqrt(std::max(0.0, piece->rate * piece->rate + 2.0 * piece->slope * missing));
  const double denominator = piece->rate + root;
  if (denominator == 0.0) return std::nullopt;
  const double time = piece->from + 2.0 * missing / denominator;
  const auto next = piece + 1;
  return Seconds(next == pieces_.end() ? time : std::min(time, next->from));
}

}  // namespace tokenline::traffic
