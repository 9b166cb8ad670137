#include "sim/base/time.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <limits>
#include <type_traits>

#include "sim/base/check.hpp"

using namespace tokenline;
using namespace std::chrono_literals;

TEST_CASE("seconds round to the nearest nanosecond") {
  for (const int whole : {0, 1, 7, 999'999'999}) {
    CAPTURE(whole);
    CHECK(to_duration(Seconds((whole + 0.25) * 1e-9)) == Duration(whole));
    CHECK(to_duration(Seconds((whole + 0.75) * 1e-9)) == Duration(whole + 1));
  }
}

TEST_CASE("rounding happens once") {
  CHECK(to_duration(Seconds(0.49999999999999994e-9)) == 0ns);
  // Just above 2^52 ns every double is a whole number; adding a half would round it again.
  for (std::int64_t i = 1; i < 200; i += 2) {
    const Seconds odd(static_cast<double>((std::int64_t{1} << 52) + i) * 1e-9);
    CHECK(to_duration(odd).count() == static_cast<std::int64_t>(odd.value() * 1e9));
  }
}

TEST_CASE("half a nanosecond rounds up") {
  // k/1024 s is k · 976562.5 ns, exact in binary, and a half for every odd k.
  for (const int k : {1, 3, 5, 1023, 4097}) {
    CAPTURE(k);
    CHECK(to_duration(Seconds(k / 1024.0)) == Duration((k * 1'953'125LL + 1) / 2));
  }
}

TEST_CASE("a whole number of nanoseconds survives the way to seconds and back") {
  // Three roundings of a double below 2^50 move it by less than half.
  for (int bit = 0; bit < 50; ++bit) {
    const Duration duration((std::int64_t{1} << bit) + bit);
    CHECK(to_duration(to_seconds(duration)) == duration);
  }
}

TEST_CASE("what is no duration is refused") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const double seconds : {std::numeric_limits<double>::quiet_NaN(), infinity, -infinity, -1e-9,
                               -1e-30, 0x1p63 * 1e-9 * 1.001, 1e300}) {
    CAPTURE(seconds);
    CHECK_THROWS_AS(to_duration(Seconds(seconds)), InternalError);
  }
}

TEST_CASE("zero of either sign and 292 years are durations") {
  CHECK(to_duration(Seconds(0.0)) == 0ns);
  CHECK(to_duration(Seconds(-0.0)) == 0ns);
  CHECK(to_duration(Seconds(9.2e9)) == 9'200'000'000s);
}

TEST_CASE("milliseconds are a millionth of the nanoseconds") {
  CHECK(to_milliseconds(1'500us) == Approx(1.5).epsilon(1e-15));
}

TEST_CASE("a simulated instant never meets a wall-clock one") {
  STATIC_REQUIRE_FALSE(std::is_convertible_v<std::chrono::steady_clock::time_point, TimePoint>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<std::chrono::system_clock::time_point, TimePoint>);
}
