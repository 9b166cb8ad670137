#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/time.hpp"

namespace tokenline::report {

/// One number of a report under its serialized name, which ends in its unit ("p99_ttft_ms").
struct Figure {
  std::string key;
  std::optional<double> value;  ///< Empty where there was nothing to measure; never NaN.
  bool whole = false;           ///< A count, serialized without a point.
};

/// Figures in the order in which they are reported.
class Figures {
 public:
  void count(std::string key, std::int64_t value);
  void amount(std::string key, std::optional<double> value);

  [[nodiscard]] std::span<const Figure> all() const { return figures_; }
  /// The figure of that name, or null.
  [[nodiscard]] const Figure* find(std::string_view key) const;
  [[nodiscard]] std::vector<std::string> keys() const;

 private:
  std::vector<Figure> figures_;
};

/// `amount` per `of`; empty where that is zero.
[[nodiscard]] std::optional<double> ratio(double amount, double of);

/// The double nearest to the duration in milliseconds, so that 300,000 ns prints as 0.3.
[[nodiscard]] constexpr double milliseconds(Duration duration) {
  return static_cast<double>(duration.count()) / 1e6;
}

/// When, in seconds of simulated time, likewise.
[[nodiscard]] constexpr double seconds_of(TimePoint when) {
  return static_cast<double>(when.time_since_epoch().count()) / 1e9;
}

/// Four significant digits without an exponent, whole numbers in full ("0.1234", "12.34",
/// "1234567");
/// "-" where there is no value.
[[nodiscard]] std::string figure_text(std::optional<double> value, bool whole = false);

/// "p99_ttft_ms" as "P99 TTFT", the head of a column; the unit and "throughput" (which the unit
/// says) are left out.
[[nodiscard]] std::string heading_of(std::string_view key);

/// The unit that a serialized name ends in or implies ("ms", "tok/s"); empty for plain numbers.
[[nodiscard]] std::string_view unit_of(std::string_view key);

}  // namespace tokenline::report
