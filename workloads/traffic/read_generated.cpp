#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "workloads/traffic/generated.hpp"
#include "workloads/traffic/read_arrival.hpp"
#include "workloads/traffic/read_request_lengths.hpp"

namespace tokenline::traffic {
namespace {

/// Every request of a run is kept in memory until its end, with some hundred bytes.
constexpr double most_requests = 1e8;

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

std::unique_ptr<Source> make_source(const ArrivalPlan& plan, const Window& window,
                                    Requests requests, std::uint64_t seed,
                                    std::string_view class_name) {
  if (plan.closed_loop)
    return std::make_unique<ClosedLoop>(std::move(requests), plan.max_concurrency, window,
                                        plan.think_time);
  const RandomStream random(seed, std::string(class_name) + "/arrivals", 0);
  return std::make_unique<OpenLoop>(std::move(requests),
                                    ArrivalTimes(Renewal(plan.process, plan.burstiness, random),
                                                 rate_of(plan, window.start), window.stop));
}

/// A class of more requests than a run can keep. How many a closed loop sends before its stop
/// depends on the answers.
void check_count(const config::Reader& entry, const ArrivalPlan& plan, const Window& window,
                 std::optional<std::int64_t> limit) {
  double expected = limit ? static_cast<double>(*limit) : most_requests;
  if (!plan.closed_loop) {
    const double arriving =
        traffic::expected(rate_of(plan, window.start), to_seconds(window.stop.time_since_epoch()));
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
