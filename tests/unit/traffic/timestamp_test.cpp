#include "workloads/traffic/timestamp.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

using tokenline::traffic::parse_calendar_time;
using tokenline::traffic::parse_decimal_seconds;
using tokenline::traffic::parse_rounded_seconds;
using tokenline::traffic::parse_zoned_time;
using tokenline::traffic::Timestamp;

namespace {

std::int64_t calendar(std::string_view text) {
  return parse_calendar_time(text).nanoseconds.value();
}

}  // namespace

TEST_CASE("decimal seconds are read to the nanosecond, without a double", "[traffic]") {
  const std::vector<std::pair<std::string, std::int64_t>> cases{
      {"0", 0},
      {"0.0", 0},
      {"0.1", 100'000'000},
      {"0.000000001", 1},
      {"12.345678901", 12'345'678'901},
      {"007.5", 7'500'000'000},
      // The nearest double to this is a multiple of 1024 ns.
      {"9199999999.999999999", 9'199'999'999'999'999'999},
      {"000000000000000000001", 1'000'000'000}};
  for (const auto& [text, nanoseconds] : cases) {
    INFO(text);
    REQUIRE(parse_decimal_seconds(text).nanoseconds == nanoseconds);
  }
}

TEST_CASE("what is no decimal number of seconds says why", "[traffic]") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "decimal digits"},      {".", "decimal digits"},   {"1.", "decimal digits"},
      {".5", "decimal digits"},    {"1e3", "decimal digits"}, {"+1", "decimal digits"},
      {" 1", "decimal digits"},    {"nan", "decimal digits"}, {"inf", "decimal digits"},
      {"1.2.3", "decimal digits"}, {"-0.5", "negative"},      {"0.1234567890", "nine fractional"},
      {"9200000001", "clock"},     {"99999999999", "clock"},  {"0x10", "decimal digits"}};
  for (const auto& [text, fragment] : cases) {
    INFO(text);
    const auto stamp = parse_decimal_seconds(text);
    REQUIRE_FALSE(stamp.nanoseconds);
    REQUIRE(stamp.problem.find(fragment) != std::string::npos);
  }
}

TEST_CASE("calendar times differ by what the calendar says", "[traffic]") {
  constexpr std::int64_t s = 1'000'000'000;
  constexpr std::int64_t day = 86'400 * s;
  REQUIRE(calendar("1970-01-01 00:00:00.0000000") == 0);
  REQUIRE(calendar("1970-01-02 00:00:00") == day);
  REQUIRE(calendar("2000-03-01 00:00:00.0") - calendar("2000-02-28 00:00:00.0") == 2 * day);
  REQUIRE(calendar("2100-03-01 00:00:00.0") - calendar("2100-02-28 00:00:00.0") == day);
  REQUIRE(calendar("2024-01-01 00:00:00.0000001") - calendar("2023-12-31 23:59:59.9999999") == 200);
  // 10,957 days from 1970 to 2000 (7 leap years), 8,720 from there to 2023-11-16.
  REQUIRE(calendar("2023-11-16 18:15:46.6805900") ==
          (10'957 + 8'720) * day + (18 * 3600 + 15 * 60 + 46) * s + 680'590'000);
}

TEST_CASE("a fraction counts by its digits, one to nine", "[traffic]") {
  const auto base = calendar("2023-11-16 00:00:00");
  std::string digits;
  std::int64_t expected = 0;
  std::int64_t unit = 100'000'000;
  for (int i = 1; i <= 9; ++i) {
    digits += static_cast<char>('0' + i);
    expected += i * unit;
    unit /= 10;
    REQUIRE(calendar("2023-11-16 00:00:00." + digits) - base == expected);
  }
}

TEST_CASE("what is no calendar time says why", "[traffic]") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "such as"},
      {"2023-11-16", "such as"},
      {"2023-11-16T18:15:46.1", "such as"},
      {"2023-11-16 18:15:46.", "such as"},
      {"2023-11-16 18:15:46,1", "such as"},
      {"2023-11-16 18:15:46.1Z", "such as"},
      {"2023-1a-16 18:15:46.1", "such as"},
      {"2023-02-29 00:00:00.1", "calendar"},
      {"2023-04-31 00:00:00.1", "calendar"},
      {"2023-13-01 00:00:00.1", "calendar"},
      {"2023-00-01 00:00:00.1", "calendar"},
      {"2023-01-01 24:00:00.1", "calendar"},
      {"2023-01-01 00:60:00.1", "calendar"},
      {"2023-01-01 00:00:60.1", "calendar"},
      {"1969-12-31 23:59:59.1", "1970"},
      {"2262-01-01 00:00:00.1", "2261"},
      {"2023-01-01 00:00:00.1234567890", "nine fractional"}};
  for (const auto& [text, fragment] : cases) {
    INFO(text);
    const auto stamp = parse_calendar_time(text);
    REQUIRE_FALSE(stamp.nanoseconds);
    REQUIRE(stamp.problem.find(fragment) != std::string::npos);
  }
}

TEST_CASE("an ISO 8601 time is one instant however its zone is written", "[traffic]") {
  const std::int64_t instant = calendar("2026-11-29 10:00:00.03");
  for (const char* text :
       {"2026-11-29T10:00:00.03Z", "2026-11-29 10:00:00.03Z", "2026-11-29T11:00:00.03+01:00",
        "2026-11-29T04:30:00.03-0530", "2026-11-30T00:00:00.030000000+14"}) {
    INFO(text);
    const auto zoned = parse_zoned_time(text);
    CHECK(zoned.stamp.nanoseconds == instant);
    CHECK(zoned.zoned);
  }
  for (const char* text : {"2026-11-29T10:00:00.03", "2026-11-29 10:00:00.03"}) {
    CHECK(parse_zoned_time(text).stamp.nanoseconds == instant);
    CHECK_FALSE(parse_zoned_time(text).zoned);
  }
}

TEST_CASE("what is no ISO 8601 time says why", "[traffic]") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "such as 2026"},
      {"2026-11-29", "such as 2026"},
      {"2026-11-29t10:00:00Z", "such as 2026"},
      {"2026-11-29T10:00Z", "such as 2026"},
      {"2026-11-29T10:00:00ZZ", "such as 2026"},
      {"2026-11-29T10:00:00Z0100", "such as 2026"},
      {"2026-11-29T10:00:00+", "such as 2026"},
      {"2026-11-29T10:00:00+1", "such as 2026"},
      {"2026-11-29T10:00:00+24:00", "such as 2026"},
      {"2026-11-29T10:00:00+01:60", "such as 2026"},
      {"2026-11-29T10:00:00+01:000", "such as 2026"},
      {"2026-02-29T10:00:00Z", "calendar"},
      {"2026-11-29T10:00:00.1234567890Z", "nine fractional"}};
  for (const auto& [text, fragment] : cases) {
    INFO(text);
    const auto zoned = parse_zoned_time(text);
    REQUIRE_FALSE(zoned.stamp.nanoseconds);
    CHECK(zoned.stamp.problem.find(fragment) != std::string::npos);
  }
}

TEST_CASE("seconds printed as a double are rounded to the nearest nanosecond, from their digits",
          "[traffic]") {
  const std::vector<std::pair<std::string, std::int64_t>> cases{
      {"0", 0},
      {"0.0", 0},
      {"19440110.0", 19'440'110'000'000'000},
      {"5.8926549999999995", 5'892'655'000},
      {"138.57600300000001", 138'576'003'000},
      {"0.0000000004999999999", 0},
      {"0.0000000005", 1},
      {"0.9999999995", 1'000'000'000},
      {"5e-05", 50'000},
      {"1.25E+2", 125'000'000'000},
      {"1e-9", 1},
      {"4e-10", 0},
      {"5e-10", 1},
      {"9e-99", 0},
      {"000001.5", 1'500'000'000},
      {"9200000000", 9'200'000'000'000'000'000}};
  for (const auto& [text, expected] : cases) {
    INFO(text);
    REQUIRE(parse_rounded_seconds(text).nanoseconds == expected);
  }
  for (const char* text : {"",
                           ".",
                           "1.",
                           ".5",
                           "-1.5",
                           "+1",
                           "1e",
                           "1e+",
                           "1e-",
                           "1e100",
                           "e5",
                           "nan",
                           "inf",
                           "0x10",
                           " 1",
                           "1 ",
                           "1,5",
                           "1.5.5",
                           "9200000000.000001",
                           "1e10",
                           "1e99",
                           "99999999999999999999999"}) {
    INFO(text);
    const Timestamp stamp = parse_rounded_seconds(text);
    REQUIRE_FALSE(stamp.nanoseconds);
    REQUIRE_FALSE(stamp.problem.empty());
  }
}

TEST_CASE("seconds of at most nine decimals are the same read exactly and rounded", "[traffic]") {
  for (const char* text : {"0", "7", "0.5", "12.345678901", "0.000000001", "9199999999.999999999"})
    REQUIRE(parse_rounded_seconds(text).nanoseconds == parse_decimal_seconds(text).nanoseconds);
}
