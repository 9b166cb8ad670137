#include "workloads/traffic/timestamp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <string>

namespace tokenline::traffic {
namespace {

constexpr std::int64_t second = 1'000'000'000;

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// The value of at most 18 digits.
std::int64_t number(std::string_view digits) {
  std::int64_t value{};
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

/// Nanoseconds of the digits after a decimal point; at most nine.
std::int64_t fraction(std::string_view digits) {
  std::int64_t value = number(digits);
  for (std::size_t i = digits.size(); i < 9; ++i) value *= 10;
  return value;
}

Timestamp too_fine(std::string_view text) {
  return {{},
          fmt::format("'{}' has more than nine fractional digits: simulated time is whole "
                      "nanoseconds",
                      text)};
}

Timestamp no_seconds(std::string_view text) {
  if (text.starts_with('-') && text.size() > 1 && text[1] >= '0' && text[1] <= '9')
    return {{}, fmt::format("'{}' is negative", text)};
  return {{}, fmt::format("expected seconds in decimal digits, got '{}'", text)};
}

Timestamp beyond_clock(std::string_view seconds) {
  return {{}, fmt::format("{} s is beyond the simulated clock", seconds)};
}

/// Seconds that a clock is ahead of UTC: nothing, "Z", "+hh:mm", "+hhmm" or "+hh".
std::optional<std::int64_t> ahead_of_utc(std::string_view zone) {
  if (zone.empty() || zone == "Z") return 0;
  if (zone.front() == 'Z') return std::nullopt;
  std::string digits(zone.substr(1));
  if (digits.size() == 5 && digits[2] == ':') digits.erase(2, 1);
  if (digits.size() == 2) digits += "00";
  if (digits.size() != 4 || !all_digits(digits)) return std::nullopt;
  const std::int64_t hours = number(std::string_view(digits).substr(0, 2));
  const std::int64_t minutes = number(std::string_view(digits).substr(2));
  if (hours > 23 || minutes > 59) return std::nullopt;
  return (zone.front() == '-' ? -60 : 60) * (60 * hours + minutes);
}

/// The digits before and after a decimal point, "0" where there is none.
struct Decimal {
  std::string_view whole;
  std::string_view fraction;

  explicit Decimal(std::string_view text) {
    const auto point = text.find('.');
    whole = text.substr(0, point);
    fraction = point == std::string_view::npos ? std::string_view("0") : text.substr(point + 1);
  }
  [[nodiscard]] bool valid() const { return all_digits(whole) && all_digits(fraction); }
};

}  // namespace

Timestamp parse_decimal_seconds(std::string_view text) {
  const auto [whole, digits] = Decimal(text);
  if (!Decimal(text).valid()) return no_seconds(text);
  if (digits.size() > 9) return too_fine(text);
  // Ten digits are at most 9,999,999,999; the clock ends at 9,223,372,036 s.
  const auto first = std::min(whole.find_first_not_of('0'), whole.size());
  const std::string_view significant = whole.substr(first);
  if (significant.size() > 10 || number(significant) > 9'200'000'000) return beyond_clock(text);
  return {number(significant) * second + fraction(digits), {}};
}

Timestamp parse_rounded_seconds(std::string_view text) {
  const auto e = std::min(text.find_first_of("eE"), text.size());
  const Decimal mantissa(text.substr(0, e));
  std::string_view power = text.substr(std::min(e + 1, text.size()));
  const bool negative = power.starts_with('-');
  if (negative || power.starts_with('+')) power.remove_prefix(1);
  const bool valid_power = e == text.size() || (all_digits(power) && power.size() <= 2);
  if (!mantissa.valid() || !valid_power) return no_seconds(text);
  const std::int64_t exponent = power.empty() ? 0 : number(power);
  // All digits in a row; the first `before` of them are whole nanoseconds.
  std::string digits = std::string(mantissa.whole) + std::string(mantissa.fraction);
  const std::int64_t before =
      static_cast<std::int64_t>(mantissa.whole.size()) + 9 + (negative ? -exponent : exponent);
  if (before < 0) return {0, {}};
  digits.resize(std::max(digits.size(), static_cast<std::size_t>(before) + 1), '0');
  const std::string_view all = digits;
  const std::string_view whole = all.substr(0, static_cast<std::size_t>(before));
  const std::string_view significant =
      whole.substr(std::min(whole.find_first_not_of('0'), whole.size()));
  const bool up = all[whole.size()] >= '5';
  if (significant.size() > 19) return beyond_clock(text);
  std::uint64_t value = 0;
  std::from_chars(significant.data(), significant.data() + significant.size(), value);
  if (value > 9'200'000'000ULL * static_cast<std::uint64_t>(second)) return beyond_clock(text);
  return {static_cast<std::int64_t>(value) + (up ? 1 : 0), {}};
}

ZonedTimestamp parse_zoned_time(std::string_view text) {
  constexpr std::size_t date_end = 10;
  const Timestamp misshapen{
      {}, fmt::format("expected a time such as 2026-11-29T10:00:00.03Z, got '{}'", text)};
  if (text.size() <= date_end || (text[date_end] != 'T' && text[date_end] != ' '))
    return {misshapen};
  const auto zone = std::min(text.find_first_of("Z+-", date_end), text.size());
  std::string local(text.substr(0, zone));
  local[date_end] = ' ';
  ZonedTimestamp zoned{.stamp = parse_calendar_time(local), .zoned = zone < text.size()};
  const auto ahead = ahead_of_utc(text.substr(zone));
  if (!ahead || zoned.stamp.problem.starts_with("expected")) return {misshapen};
  if (zoned.stamp.nanoseconds) *zoned.stamp.nanoseconds -= *ahead * second;
  return zoned;
}

Timestamp parse_calendar_time(std::string_view text) {
  Timestamp misshapen{
      {}, fmt::format("expected a time such as 2023-11-16 18:15:46.6805900, got '{}'", text)};
  constexpr std::string_view shape = "dddd-dd-dd dd:dd:dd";
  if (text.size() < shape.size()) return misshapen;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (shape[i] == 'd' ? !digit : text[i] != shape[i]) return misshapen;
  }
  std::string_view digits = text.substr(shape.size());
  if (!digits.empty()) {
    if (digits.front() != '.' || !all_digits(digits.substr(1))) return misshapen;
    digits.remove_prefix(1);
    if (digits.size() > 9) return too_fine(text);
  }
  const auto part = [&](std::size_t from, std::size_t size) {
    return number(text.substr(from, size));
  };
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(part(0, 4))),
                                         std::chrono::month(static_cast<unsigned>(part(5, 2))),
                                         std::chrono::day(static_cast<unsigned>(part(8, 2)))};
  if (!date.ok() || part(11, 2) > 23 || part(14, 2) > 59 || part(17, 2) > 59)
    return {{}, fmt::format("'{}' is not in the calendar", text)};
  if (date.year() < std::chrono::year(1970) || date.year() > std::chrono::year(2261))
    return {{}, fmt::format("'{}' lies outside the years 1970 to 2261", text)};
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const std::int64_t seconds = ((days * 24 + part(11, 2)) * 60 + part(14, 2)) * 60 + part(17, 2);
  return {seconds * second + fraction(digits), {}};
}

}  // namespace tokenline::traffic
