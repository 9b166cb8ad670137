#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tokenline::traffic {

/// An instant read from a trace, or why it is none.
struct Timestamp {
  std::optional<std::int64_t> nanoseconds;
  std::string problem;  ///< A message for the user, when there is no value.
};

/// Decimal seconds such as "12.345678901", exactly: no double on the way. At most nine fractional
/// digits, no sign, no exponent, below 9.2e9 s.
[[nodiscard]] Timestamp parse_decimal_seconds(std::string_view text);

/// Seconds as other programs print a double, such as "5.8926549999999995", "19440110.0" or
/// "5e-05", rounded to the nearest nanosecond (halves up) from their decimal digits: no double on
/// the way. No sign, an exponent of at most two digits, below 9.2e9 s.
[[nodiscard]] Timestamp parse_rounded_seconds(std::string_view text);

/// "2026-11-29T10:00:00.03Z" as nanoseconds since 1970-01-01 UTC: a date and a time as
/// parse_calendar_time() reads them, with a T (RFC 3339, ISO 8601) or a space between them, then
/// nothing, `Z`, or what the clock is ahead of UTC (`+01:00`, `-0530`, `+01`; at most a day).
/// `zoned` says which: without a zone it is a local time, and not comparable with one that has it.
struct ZonedTimestamp {
  Timestamp stamp;
  bool zoned = false;
};
[[nodiscard]] ZonedTimestamp parse_zoned_time(std::string_view text);

/// "2023-11-16 18:15:46.6805900" as nanoseconds since 1970-01-01 by the proleptic Gregorian
/// calendar, without time zones or leap seconds; years 1970 … 2261, at most nine fractional digits.
[[nodiscard]] Timestamp parse_calendar_time(std::string_view text);

}  // namespace tokenline::traffic
