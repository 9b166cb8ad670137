#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/base/check.hpp"
#include "sim/base/time.hpp"
#include "sim/stats/int128.hpp"

namespace tokenline::stats {

/// Average over simulated time of an integer that changes at instants, kept exactly: the integral
/// is an integer of value·nanoseconds in 128 bits. The value is 0 until the first set().
class TimeAverage {
 public:
  explicit TimeAverage(TimePoint start = {}) : since_(start), start_(start) {}

  /// The value is `value` from `now` on. Throws InternalError when `now` goes back.
  void set(TimePoint now, std::int64_t value) {
    integral_ = integral(now);
    since_ = now;
    value_ = value;
    peak_ = std::max(peak_, value);
  }
  void add(TimePoint now, std::int64_t change) { set(now, value_ + change); }

  [[nodiscard]] std::int64_t value() const { return value_; }
  /// The largest value ever set, for however short a time; 0 when all were negative.
  [[nodiscard]] std::int64_t peak() const { return peak_; }

  /// ∫ value dt up to `now`, in value·nanoseconds. Throws InternalError before the last set().
  [[nodiscard]] Int128 integral(TimePoint now) const {
    TOKENLINE_CHECK(now >= since_, "at {} ns a time average was asked about {} ns",
                    since_.time_since_epoch().count(), now.time_since_epoch().count());
    return integral_ + Int128{value_} * (now - since_).count();
  }

  /// The mean over [start, now]; 0 over an empty interval.
  [[nodiscard]] double mean(TimePoint now) const {
    const Int128 area = integral(now);
    if (now == start_) return 0.0;
    return static_cast<double>(area) / static_cast<double>((now - start_).count());
  }

 private:
  TimePoint since_;
  TimePoint start_;
  std::int64_t value_ = 0;
  std::int64_t peak_ = 0;
  Int128 integral_ = 0;
};

}  // namespace tokenline::stats
