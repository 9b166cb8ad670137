#include "sim/stats/time_average.hpp"

#include <catch2/catch.hpp>
#include <cstdint>

#include "sim/base/check.hpp"

using tokenline::Duration;
using tokenline::InternalError;
using tokenline::TimePoint;
using tokenline::stats::Int128;
using tokenline::stats::TimeAverage;

namespace {
TimePoint at(std::int64_t nanoseconds) { return TimePoint(Duration(nanoseconds)); }
}  // namespace

TEST_CASE("the mean is the area under the steps over the time", "[stats]") {
  TimeAverage queue;
  queue.set(at(10), 4);
  queue.add(at(20), -3);
  REQUIRE(queue.value() == 1);
  REQUIRE(queue.peak() == 4);
  // 0 for 10 ns, 4 for 10 ns, 1 for 20 ns.
  REQUIRE((queue.integral(at(40)) == Int128{60}));
  REQUIRE(queue.mean(at(40)) == 60.0 / 40.0);
}

TEST_CASE("the mean starts at the start, not at time zero", "[stats]") {
  TimeAverage queue(at(100));
  queue.set(at(100), 6);
  queue.set(at(150), 2);
  REQUIRE(queue.mean(at(200)) == (6.0 * 50.0 + 2.0 * 50.0) / 100.0);
}

TEST_CASE("over an empty interval the mean is zero", "[stats]") {
  TimeAverage queue(at(5));
  queue.set(at(5), 9);
  REQUIRE(queue.mean(at(5)) == 0.0);
}

TEST_CASE("a value set and replaced at one instant counts for the peak only", "[stats]") {
  TimeAverage queue;
  queue.set(at(10), 100);
  queue.set(at(10), 1);
  REQUIRE(queue.peak() == 100);
  REQUIRE((queue.integral(at(20)) == Int128{10}));
}

TEST_CASE("the integral stays exact far beyond 64 bits", "[stats]") {
  const std::int64_t tokens = 1'000'000'000'000;
  const std::int64_t year = 31'536'000'000'000'000;
  TimeAverage held;
  held.set(at(0), tokens);
  held.set(at(1), tokens + 1);
  const Int128 expected = Int128{tokens} + Int128{tokens + 1} * (year - 1);
  REQUIRE((held.integral(at(year)) == expected));
}

TEST_CASE("time going back is a bug of the caller", "[stats]") {
  TimeAverage queue;
  queue.set(at(10), 1);
  REQUIRE_THROWS_AS(queue.set(at(9), 2), InternalError);
  REQUIRE_THROWS_AS((void)queue.mean(at(9)), InternalError);
}
