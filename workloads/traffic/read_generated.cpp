#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "workloads/traffic/generated.hpp"
#include "workloads/traffic/read_request_lengths.hpp"

namespace tokenline::traffic {
namespace {

/// Scenario times end at 30 years, far inside the clock's 292.
constexpr config::Range<double> scenario_times{0.0, 1e9};
/// One request a nanosecond is as many as the clock can tell apart.
constexpr double highest_rate = 1e9;
/// Every request of a run is kept in memory until its end, with some hundred bytes.
constexpr double most_requests = 1e8;

/// The `arrival:` section as far as it does not depend on the class.
struct ArrivalPlan {
  bool closed_loop = false;
  std::int64_t max_concurrency = 1;
  Duration think_time{};
  Process process = Process::poisson;
  double burstiness = 1.0;
  std::vector<RatePoint> rate;  ///< Empty for a constant rate.
  PerSecond constant_rate{1.0};
};

std::vector<RatePoint> read_profile(config::Reader& arrival) {
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
  const bool profile = arrival.is_sequence("rate");
  arrival.alternative(open, !plan.closed_loop && !profile, [&] {
    plan.constant_rate =
        arrival.rate({"rate", "Requests per time, on average."}, {1e-9, highest_rate});
  });
  arrival.alternative(open, !plan.closed_loop && profile,
                      [&] { plan.rate = read_profile(arrival); });
  return plan;
}

Window read_window(config::Reader& entry) {
  Window window;
  const std::size_t before = entry.document().mistakes();
  const Seconds start = entry.seconds({"start", "Scenario time at which the class begins to send."},
                                      scenario_times, "0 s");
  window.start = TimePoint(to_duration(start));
  const auto stop = entry.optional_seconds(
      {"stop", "Scenario time from which on nothing arrives; needed where num_prompts is not."},
      scenario_times);
  if (stop) window.stop = TimePoint(to_duration(*stop));
  if (window.stop <= window.start && entry.document().mistakes() == before)
    entry.error("stop", "the class stops before it starts");
  return window;
}

RateProfile profile_of(const ArrivalPlan& plan, const Window& window) {
  const Seconds start = to_seconds(window.start.time_since_epoch());
  return plan.rate.empty() ? RateProfile::constant(plan.constant_rate, start)
                           : RateProfile(plan.rate, start);
}

std::unique_ptr<Source> make_source(const ArrivalPlan& plan, const Window& window,
                                    Requests requests, std::uint64_t seed,
                                    std::string_view class_name) {
  if (plan.closed_loop)
    return std::make_unique<ClosedLoop>(std::move(requests), plan.max_concurrency, window,
                                        plan.think_time);
  const RandomStream random(seed, std::string(class_name) + "/arrivals", 0);
  return std::make_unique<OpenLoop>(std::move(requests),
                                    Renewal(plan.process, plan.burstiness, random),
                                    profile_of(plan, window), window.stop);
}

/// A class of more requests than a run can keep. How many a closed loop sends before its stop
/// depends on the answers.
void check_count(const config::Reader& entry, const ArrivalPlan& plan, const Window& window,
                 std::optional<std::int64_t> limit) {
  double expected = limit ? static_cast<double>(*limit) : most_requests;
  if (!plan.closed_loop) {
    const double arriving =
        profile_of(plan, window).expected(to_seconds(window.stop.time_since_epoch()));
    expected = limit ? std::min(expected, arriving) : arriving;
  } else if (window.stop != TimePoint::max()) {
    return;
  }
  if (expected > most_requests)
    entry.error("arrival",
                fmt::format("the class would send about {:.3g} requests, more than {:.0f}",
                            expected, most_requests),
                "lower the rate, stop earlier, or bound it with num_prompts");
}

}  // namespace

void read_generated(config::Reader& entry, std::uint64_t seed, std::string_view class_name,
                    std::uint32_t class_index, Traffic& traffic) {
  const std::size_t before = entry.document().mistakes();
  config::Reader arrival = entry.section({"arrival", "When generated requests arrive."});
  const ArrivalPlan plan = read_arrival(arrival);
  arrival.finish();
  const Window window = read_window(entry);
  constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();
  const auto limit = entry.optional_integer(
      {"num_prompts", "Requests of the class at most; needed where stop is not."}, {1, unlimited});
  if (!entry.has("num_prompts") && !entry.has("stop"))
    entry.error("arrival", "the class would never end", "give it stop, num_prompts or both");
  if (entry.document().mistakes() == before) check_count(entry, plan, window, limit);
  ReadRequestLengths lengths = read_request_lengths(entry, traffic);
  traffic.longest.push_back(lengths.longest);
  if (!entry.document().ok()) return;
  Requests requests(seed, class_name, class_index, std::move(lengths.lengths),
                    limit.value_or(unlimited));
  traffic.sources.push_back(make_source(plan, window, std::move(requests), seed, class_name));
}

}  // namespace tokenline::traffic
