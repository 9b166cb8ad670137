#include "workloads/traffic/read_arrival.hpp"

#include <limits>
#include <string>

namespace tokenline::traffic {
namespace {

/// One request a nanosecond is as many as the clock can tell apart.
constexpr double highest_rate = 1e9;

std::vector<RatePoint> read_points(config::Reader& arrival) {
  const config::Document& document = arrival.document();
  const std::size_t before = document.mistakes();
  std::vector<RatePoint> points;
  bool ever = false;
  for (auto& item : arrival.items({"rate", "Points of a rate that changes with time."})) {
    RatePoint point;
    point.at = item.seconds({"at", "Scenario time at which the rate is reached."}, scenario_times);
    point.rate = item.rate({"rate", "Requests per time from here on."}, {0.0, highest_rate});
    point.ramp = item.boolean(
        {"ramp", "Whether the rate changes evenly from the point before, not at once."}, false);
    if (points.empty() && point.ramp)
      item.error("ramp", "the first point has none before it to ramp from");
    if (!points.empty() && points.back().at >= point.at && document.mistakes() == before)
      item.error("at", "points must be in ascending order of time");
    else
      points.push_back(point);
    ever = ever || point.rate.value() > 0.0;
    item.finish();
  }
  if (!ever && document.mistakes() == before) arrival.error("rate", "the rate is never above zero");
  return points;
}

DiurnalShape read_diurnal(config::Reader& section) {
  DiurnalShape shape;
  shape.mean = section.rate({"mean", "Requests per time, on average over a period."},
                            {1e-9, highest_rate / 2.0});
  const double ratio =
      section.real({"peak_to_trough", "Highest rate over lowest; inf where the lowest is zero."},
                   {1.0, std::numeric_limits<double>::infinity()});
  shape.amplitude = 1.0 - 2.0 / (ratio + 1.0);
  shape.period = section.seconds({"period", "From one peak to the next."}, {1e-3, 1e9});
  shape.peak_at = section.seconds({"peak_at", "Scenario time of a peak."}, scenario_times);
  return shape;
}

/// The corners of a spike; those that fall on one instant are one.
std::vector<RatePoint> spike_points(PerSecond base, PerSecond peak, Seconds at, Seconds duration,
                                    Seconds ramp) {
  std::vector<RatePoint> points{{Seconds(0.0), base}};
  const auto add = [&](Seconds when, PerSecond rate, bool is_ramp) {
    if (points.back().at < when)
      points.push_back({when, rate, is_ramp});
    else
      points.back().rate = rate;
  };
  const bool ramps = ramp > Seconds(0.0);
  if (ramps) add(at, base, false);
  add(at + ramp, peak, ramps);
  add(at + ramp + duration, ramps ? peak : base, false);
  if (ramps) add(at + ramp + duration + ramp, base, true);
  return points;
}

std::vector<RatePoint> read_spike(config::Reader& section) {
  const std::size_t before = section.document().mistakes();
  const PerSecond base =
      section.rate({"base", "Requests per time before and after."}, {0.0, highest_rate});
  const PerSecond peak =
      section.rate({"peak", "Requests per time at the top."}, {base.value(), highest_rate});
  const Seconds at =
      section.seconds({"at", "Scenario time at which the rate begins to rise."}, scenario_times);
  const Seconds duration =
      section.seconds({"duration", "How long it stays at the top."}, scenario_times);
  const Seconds ramp = section.seconds(
      {"ramp", "How long it takes to rise, evenly, and again to fall."}, scenario_times, "0 s");
  if (section.document().mistakes() != before) return {};
  if (duration + ramp <= Seconds(0.0))
    section.error("duration", "a spike of no time", "give it a duration or a ramp above 0 s");
  if (peak <= PerSecond(0.0)) section.error("peak", "the rate is never above zero");
  return spike_points(base, peak, at, duration, ramp);
}

void read_shape(config::Reader& section, ArrivalPlan& plan) {
  static const std::vector<std::string> shapes{"diurnal", "spike"};
  const std::string shape = section.word(
      {"profile", "A day's swing (diurnal), or a rise and fall in an even rate (spike)."}, shapes);
  if (shape.empty()) section.allow_unknown();
  section.alternative("with profile: diurnal", shape == "diurnal",
                      [&] { plan.rate = read_diurnal(section); });
  section.alternative("with profile: spike", shape == "spike",
                      [&] { plan.rate = read_spike(section); });
  section.finish();
}

void read_rate(config::Reader& arrival, ArrivalPlan& plan) {
  const bool points = arrival.is_sequence("rate");
  const bool shape = arrival.is_mapping("rate");
  arrival.alternative("", !points && !shape, [&] {
    plan.rate = arrival.rate({"rate", "Requests per time, on average."}, {1e-9, highest_rate});
  });
  arrival.alternative("", points, [&] { plan.rate = read_points(arrival); });
  arrival.alternative("", shape, [&] {
    config::Reader section = arrival.section({"rate", "A rate that changes with time, by shape."});
    read_shape(section, plan);
  });
}

}  // namespace

ArrivalPlan read_arrival(config::Reader& arrival) {
  static const std::vector<std::string> processes{"poisson", "gamma", "constant", "closed_loop"};
  ArrivalPlan plan;
  const std::string process =
      arrival.word({"process",
                    "How requests arrive: independently (poisson), in bursts (gamma), "
                    "evenly (constant), or when an earlier one ends (closed_loop)."},
                   processes);
  plan.closed_loop = process == "closed_loop";
  if (process == "gamma") plan.process = Process::gamma;
  if (process == "constant") plan.process = Process::constant;
  arrival.alternative("with process: closed_loop", plan.closed_loop, [&] {
    plan.max_concurrency = arrival.integer(
        {"max_concurrency", "Clients, each with one request in flight."}, {1, 1'000'000});
    plan.think_time = to_duration(arrival.seconds(
        {"think_time", "From the end of a client's request to its next one."}, {0.0, 1e6}, "0 s"));
  });
  arrival.alternative("with process: gamma", process == "gamma", [&] {
    plan.burstiness = arrival.real(
        {"burstiness", "Shape of the gamma-distributed gaps: 1 is poisson, below 1 burstier."},
        {0.01, 1e6});
  });
  constexpr std::string_view open = "with process: poisson, gamma or constant";
  arrival.alternative(open, !plan.closed_loop, [&] { read_rate(arrival, plan); });
  return plan;
}

ArrivalRate rate_of(const ArrivalPlan& plan, TimePoint from) {
  const Seconds start = to_seconds(from.time_since_epoch());
  if (const auto* shape = std::get_if<DiurnalShape>(&plan.rate)) return DiurnalRate(*shape, start);
  if (const auto* points = std::get_if<std::vector<RatePoint>>(&plan.rate))
    return RateProfile(*points, start);
  return RateProfile::constant(std::get<PerSecond>(plan.rate), start);
}

}  // namespace tokenline::traffic
