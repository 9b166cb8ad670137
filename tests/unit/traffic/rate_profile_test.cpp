#include "workloads/traffic/rate_profile.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "sim/base/check.hpp"

using tokenline::InternalError;
using tokenline::PerSecond;
using tokenline::Seconds;
using tokenline::traffic::RatePoint;
using tokenline::traffic::RateProfile;

namespace {

RatePoint step(double at, double rate) { return {Seconds(at), PerSecond(rate), false}; }
RatePoint ramp(double at, double rate) { return {Seconds(at), PerSecond(rate), true}; }

double time_of(const RateProfile& profile, double events) {
  return profile.time_of(events).value().value();
}

/// Silence, a step, a ramp up, a ramp down to zero, silence, a step that stays.
const std::vector<RatePoint> day{step(10, 5),   ramp(30, 25), ramp(50, 0),
                                 step(70, 0.5), ramp(90, 8),  step(100, 2)};

/// r(t) of `day` written out by hand.
double rate_of_day(double t) {
  if (t < 10) return 0;
  if (t < 30) return 5 + (t - 10);
  if (t < 50) return 25 - 1.25 * (t - 30);
  if (t < 70) return 0;
  if (t < 90) return 0.5 + 0.375 * (t - 70);
  return t < 100 ? 8 : 2;
}

}  // namespace

TEST_CASE("the n-th event of a constant rate comes n/rate after the start", "[traffic]") {
  const auto profile = RateProfile::constant(PerSecond(35.0), Seconds(2.0));
  for (const double n : {1.0, 2.0, 35.0, 1e6, 1e9})
    REQUIRE(time_of(profile, n) == Approx(2.0 + n / 35.0).epsilon(1e-15));
}

TEST_CASE("Λ is the integral of the rate", "[traffic]") {
  const RateProfile profile(day, Seconds(0.0));
  // The midpoint rule is exact for straight lines whose kinks lie between cells.
  const double cell = 0.5;
  double integral = 0.0;
  for (int i = 0; i < 240; ++i) {
    const double t = cell * i;
    REQUIRE(profile.expected(Seconds(t)) == Approx(integral).margin(1e-9));
    integral += rate_of_day(t + cell / 2) * cell;
  }
}

TEST_CASE("time_of inverts Λ wherever the rate is above zero", "[traffic]") {
  for (const double start : {0.0, 5.0, 17.0, 60.0, 95.0, 200.0}) {
    const RateProfile profile(day, Seconds(start));
    double previous = start;
    for (int i = 1; i <= 4000; ++i) {
      const double events = i * 0.21;
      const double time = time_of(profile, events);
      REQUIRE(time >= previous);
      REQUIRE(profile.expected(Seconds(time)) == Approx(events).epsilon(1e-12));
      previous = time;
    }
  }
}

TEST_CASE("a later start only takes away what came before it", "[traffic]") {
  const RateProfile whole(day, Seconds(0.0));
  for (const double start : {5.0, 17.0, 35.0, 60.0, 80.0, 150.0}) {
    const RateProfile late(day, Seconds(start));
    for (int i = 0; i < 80; ++i) {
      const double t = start + 3.7 * i;
      REQUIRE(late.expected(Seconds(t)) ==
              Approx(whole.expected(Seconds(t)) - whole.expected(Seconds(start))).margin(1e-9));
    }
  }
}

TEST_CASE("an event due exactly at the end of a busy stretch does not wait for the next",
          "[traffic]") {
  const std::vector<RatePoint> points{step(0, 10), step(1, 0), step(5, 10)};
  const RateProfile profile(points, Seconds(0.0));
  REQUIRE(time_of(profile, 10.0) == 1.0);
  REQUIRE(time_of(profile, 10.5) == Approx(5.05));
}

TEST_CASE("a rate that is zero for ever ends the events", "[traffic]") {
  const std::vector<RatePoint> points{step(0, 0), ramp(10, 4), ramp(20, 0)};
  const RateProfile profile(points, Seconds(0.0));
  // Two triangles of 20 events each; the last moment of a ramp to zero is its end.
  REQUIRE(time_of(profile, 20.0) == Approx(10.0));
  REQUIRE(time_of(profile, 40.0) == Approx(20.0));
  REQUIRE_FALSE(profile.time_of(40.001));
  const std::vector<RatePoint> silence{step(0, 0)};
  REQUIRE_FALSE(RateProfile(silence, Seconds(3.0)).time_of(1e-9));
}

TEST_CASE("points out of order are a bug of the caller", "[traffic]") {
  const std::vector<RatePoint> backwards{step(1, 1), step(1, 2)};
  REQUIRE_THROWS_AS(RateProfile(backwards, Seconds(0.0)), InternalError);
  const std::vector<RatePoint> headless{ramp(1, 1)};
  REQUIRE_THROWS_AS(RateProfile(headless, Seconds(0.0)), InternalError);
  REQUIRE_THROWS_AS(RateProfile({}, Seconds(0.0)), InternalError);
}
