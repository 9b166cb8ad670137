#include "sim/report/why/apportion.hpp"

#include <array>
#include <catch2/catch.hpp>

#include "sim/base/check.hpp"

using namespace tokenline;
using namespace tokenline::report;

using Three = std::array<Duration, 3>;

namespace {

Three apportioned(std::int64_t total, const Three& weights) {
  Three shares{};
  apportion(Duration(total), weights, shares);
  return shares;
}

Three ns(std::int64_t a, std::int64_t b, std::int64_t c) {
  return {Duration(a), Duration(b), Duration(c)};
}

}  // namespace

TEST_CASE("shares in proportion sum to what is shared, the largest remainders rounded up",
          "[report]") {
  CHECK(apportioned(10, ns(1, 1, 1)) == ns(4, 3, 3));
  CHECK(apportioned(10, ns(1, 2, 3)) == ns(2, 3, 5));  // 1.67, 3.33, 5
  CHECK(apportioned(7, ns(3, 0, 4)) == ns(3, 0, 4));
  CHECK(apportioned(0, ns(0, 0, 0)) == ns(0, 0, 0));
  // Days times days do not fit 64 bits.
  constexpr std::int64_t day = 86'400'000'000'000;
  CHECK(apportioned(day, ns(day, day, 2 * day)) == ns(day / 4, day / 4, day / 2));
}

TEST_CASE("time that nobody can have taken is our bug", "[report]") {
  CHECK_THROWS_AS(apportioned(1, ns(0, 0, 0)), InternalError);
}

TEST_CASE("fractions of either sign are rounded so that they sum to the floor of their sum",
          "[report]") {
  const std::array<stats::Int128, 3> numerators{7, -4, 6};  // of 4: 1.75, -1, 1.5; sum 2.25
  Three rounded{};
  round_fractions(numerators, 4, rounded);
  CHECK(rounded == ns(2, -1, 1));
}
