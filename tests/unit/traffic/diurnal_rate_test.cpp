#include "workloads/traffic/diurnal_rate.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "sim/base/check.hpp"
#include "tests/unit/traffic/support.hpp"

using namespace tokenline;
using namespace tokenline::traffic;
using namespace tokenline::traffic::testing;

namespace {

constexpr double day = 86'400.0;

DiurnalShape shape(double amplitude, double mean = 20.0, double period = day,
                   double peak_at = 50'000.0) {
  return {PerSecond(mean), amplitude, Seconds(period), Seconds(peak_at)};
}

double rate_at(const DiurnalShape& s, double t) {
  return s.mean.value() *
         (1.0 + s.amplitude *
                    std::cos(2.0 * std::numbers::pi * (t - s.peak_at.value()) / s.period.value()));
}

double time_of(const DiurnalRate& rate, double events) {
  return rate.time_of(events).value().value();
}

std::string chat_through(const std::string& rate, const std::string& window) {
  return "traffic:\n  chat:\n    arrival:\n      process: constant\n      rate: " + rate +
         "\n    " + window + "\n    prompt_tokens: 5\n    output_tokens: 5\n";
}

}  // namespace

TEST_CASE("Λ of a diurnal rate is the integral of its cosine", "[traffic]") {
  for (const double amplitude : {0.0, 0.3, 0.9, 1.0}) {
    const DiurnalShape s = shape(amplitude);
    const DiurnalRate rate(s, Seconds(7000.0));
    // Simpson's rule: its error here is below 10^-12 of the integral.
    const double step = 50.0;
    double integral = 0.0;
    for (int i = 0; i < 4000; ++i) {
      const double t = 7000.0 + step * i;
      REQUIRE(rate.expected(Seconds(t)) == Approx(integral).epsilon(1e-11).margin(1e-7));
      integral +=
          step / 6.0 * (rate_at(s, t) + 4.0 * rate_at(s, t + step / 2.0) + rate_at(s, t + step));
    }
  }
}

TEST_CASE("a whole period holds mean × period events, wherever it begins", "[traffic]") {
  for (const double start : {0.0, 1.0, 33'333.0, 50'000.0, 93'200.0, 1e6})
    for (const double amplitude : {0.0, 0.5, 1.0}) {
      const DiurnalRate rate(shape(amplitude), Seconds(start));
      for (const double periods : {1.0, 2.0, 30.0})
        REQUIRE(rate.expected(Seconds(start + periods * day)) ==
                Approx(20.0 * day * periods).epsilon(1e-13));
    }
}

TEST_CASE("the inverse of a diurnal Λ is exact to the nanosecond over a week", "[traffic]") {
  for (const double amplitude : {0.0, 0.5, 0.9}) {
    const DiurnalShape s = shape(amplitude);
    const DiurnalRate rate(s, Seconds(100.0));
    double previous = 100.0;
    for (int i = 1; i <= 5000; ++i) {
      const double events = 2419.2 * i;
      const double time = time_of(rate, events);
      REQUIRE(time > previous);
      // Times of a week are doubles a tenth of a nanosecond apart: the error of Λ over the rate.
      REQUIRE(std::abs(rate.expected(Seconds(time)) - events) / rate_at(s, time) < 2e-9);
      previous = time;
    }
  }
}

TEST_CASE("a rate that falls to zero is inverted through its trough", "[traffic]") {
  const DiurnalShape s = shape(1.0, 10.0, 100.0, 0.0);
  const DiurnalRate rate(s, Seconds(0.0));
  // The trough is at 50 s, after half of the period's 1000 events, where Λ − 500 grows as the cube
  // of the time: 10 · (2π/100)² / 6 · x³.
  const double cube = 10.0 * std::pow(2.0 * std::numbers::pi / 100.0, 2) / 6.0;
  REQUIRE(time_of(rate, 500.0) == Approx(50.0).margin(1e-3));
  for (const double x : {-2.0, -0.5, 0.5, 2.0})
    REQUIRE(time_of(rate, 500.0 + cube * x * x * x) == Approx(50.0 + x).margin(0.01));
  double previous = 0.0;
  for (int i = 1; i <= 20'000; ++i) {
    const double time = time_of(rate, 0.1 * i);
    REQUIRE(time >= previous);
    REQUIRE(rate.expected(Seconds(time)) == Approx(0.1 * i).margin(1e-9));
    previous = time;
  }
}

TEST_CASE("without amplitude a diurnal rate is constant", "[traffic]") {
  const DiurnalRate rate(shape(0.0, 35.0), Seconds(2.0));
  for (const double n : {1.0, 2.0, 35.0, 1e6})
    REQUIRE(time_of(rate, n) == Approx(2.0 + n / 35.0).margin(1e-10));
}

TEST_CASE("a shape that is no rate is a bug of the caller", "[traffic]") {
  REQUIRE_THROWS_AS(DiurnalRate(shape(1.1), Seconds(0.0)), InternalError);
  REQUIRE_THROWS_AS(DiurnalRate(shape(-0.1), Seconds(0.0)), InternalError);
  REQUIRE_THROWS_AS(DiurnalRate(shape(0.5, 0.0), Seconds(0.0)), InternalError);
}

TEST_CASE("a diurnal class sends its mean a period, the ratio of peak to trough apart",
          "[traffic]") {
  const auto traffic =
      read("s.yaml",
           chat_through(
               "{profile: diurnal, mean: 100/s, peak_to_trough: 4, period: 1 h, peak_at: 20 min}",
               "stop: 2 h"));
  std::vector<int> minutes(120);
  for (const Arrival& arrival : all_of(*traffic.sources.at(0)))
    ++minutes[static_cast<std::size_t>(to_seconds(arrival.when.time_since_epoch()).value() / 60.0)];
  int total = 0;
  for (const int count : minutes) total += count;
  REQUIRE(total == Approx(720'000).margin(1.0));
  // Mean (1 ± 3/5 · sin θ/θ) over the two minutes around a peak or a trough, θ = 2π · 60/3600.
  const double theta = std::numbers::pi / 30.0;
  const double swing = 0.6 * std::sin(theta) / theta;
  REQUIRE(minutes[19] + minutes[20] == Approx(12'000.0 * (1.0 + swing)).margin(2));
  REQUIRE(minutes[49] + minutes[50] == Approx(12'000.0 * (1.0 - swing)).margin(2));
  REQUIRE(minutes[79] + minutes[80] == Approx(minutes[19] + minutes[20]).margin(2));
}

TEST_CASE("a spike adds (peak − base) × (duration + ramp) requests to its base", "[traffic]") {
  const auto sent = [](const std::string& rate, const std::string& window) {
    const auto traffic = read("s.yaml", chat_through(rate, window));
    return all_of(*traffic.sources.at(0)).size();
  };
  const std::string spike = "{profile: spike, base: 10/s, peak: 90/s, at: 60 s, duration: 30 s";
  // 1200 of the base in 120 s; a last one due exactly at the stop is not sent.
  CHECK(sent(spike + "}", "stop: 120 s") == Approx(1200 + 80 * 30).margin(1));
  CHECK(sent(spike + ", ramp: 5 s}", "stop: 120 s") == Approx(1200 + 80 * 35).margin(1));
  CHECK(sent(spike + ", ramp: 5 s}", "stop: 60 s") == Approx(600).margin(1));
  CHECK(sent(spike + ", ramp: 5 s}", "stop: 65 s") == Approx(650 + 200).margin(1));
  CHECK(sent(spike + ", ramp: 5 s}", "start: 80 s\n    stop: 90 s") == Approx(900).margin(1));
  CHECK(sent("{profile: spike, base: 0/s, peak: 8/s, at: 0 s, duration: 5 s}", "stop: 9 s") ==
        Approx(40).margin(1));
  CHECK(sent("{profile: spike, base: 2/s, peak: 8/s, at: 0 s, duration: 0 s, ramp: 5 s}",
             "stop: 20 s") == Approx(40 + 30).margin(1));
}

TEST_CASE("every mistake of a shaped rate is reported at its place", "[traffic]") {
  const std::string diurnal = "{profile: diurnal, mean: 9/s, peak_to_trough: 3, period: 1 h";
  const std::string spike = "{profile: spike, base: 10/s, ";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"{profile: dirunal, mean: 9/s}", "did you mean 'diurnal'?"},
      {"{mean: 9/s}", "traffic.chat.arrival.rate.profile: required key is missing"},
      {diurnal + "}", "traffic.chat.arrival.rate.peak_at: required key is missing"},
      {diurnal + ", peak_at: 0 s, base: 1/s}", "traffic.chat.arrival.rate.base: unknown key"},
      {"{profile: diurnal, mean: 9/s, peak_to_trough: 0.5, period: 1 h, peak_at: 0 s}",
       "traffic.chat.arrival.rate.peak_to_trough: 0.5 is out of range"},
      {"{profile: diurnal, mean: 0/s, peak_to_trough: 2, period: 0 s, peak_at: 0 s}",
       "traffic.chat.arrival.rate.period: "},
      {spike + "peak: 9/s, at: 1 s, duration: 1 s}", "traffic.chat.arrival.rate.peak: "},
      {spike + "peak: 19/s, at: 1 s, duration: 0 s}",
       "traffic.chat.arrival.rate.duration: a spike of no time"},
      {"{profile: spike, base: 0/s, peak: 0/s, at: 1 s, duration: 1 s}",
       "traffic.chat.arrival.rate.peak: the rate is never above zero"},
      {spike + "peak: 19/s, at: 1, duration: 1 s}", "traffic.chat.arrival.rate.at: '1' is a bare"}};
  for (const auto& [rate, report] : cases) {
    const std::string found = mistakes("s.yaml", chat_through(rate, "stop: 1 h"));
    INFO(rate);
    INFO(found);
    CHECK(found.find(report) != std::string::npos);
  }
  REQUIRE(mistakes("s.yaml",
                   chat_through("{profile: diurnal, mean: 9/s, peak_to_trough: inf, period: 1 h, "
                                "peak_at: 0 s}",
                                "stop: 1 h"))
              .empty());
}
