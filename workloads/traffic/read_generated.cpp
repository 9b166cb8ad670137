#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "workloads/traffic/csv_file.hpp"
#include "workloads/traffic/generated.hpp"
#include "workloads/traffic/read_arrival.hpp"
#include "workloads/traffic/read_request_lengths.hpp"
#include "workloads/traffic/read_sessions.hpp"

namespace tokenline::traffic {
namespace {

/// Whose source is being read.
struct Owner {
  std::uint64_t seed;
  std::string_view class_name;
  std::uint32_t class_index;
  std::size_t mistakes_before;  ///< The class's first key.

  /// Why: a check that builds on several values says nothing where one of them is wrong.
  [[nodiscard]] bool good(const config::Reader& entry) const {
    return entry.document().mistakes() == mistakes_before;
  }
  [[nodiscard]] ArrivalTimes times(const ArrivalPlan& plan, const Window& window) const {
    const RandomStream random(seed, std::string(class_name) + "/arrivals", 0);
    return {Renewal(plan.process, plan.burstiness, random), rate_of(plan, window.start),
            window.stop};
  }
};

Window read_window(config::Reader& entry) {
  Window window;
  const std::size_t before = entry.document().mistakes();
  const Seconds start = entry.seconds({"start", "Scenario time at which the class begins to send."},
                                      scenario_times, "0 s");
  window.start = TimePoint(to_duration(start));
  const auto stop = entry.optional_seconds(
      {"stop", "Scenario time from which on nothing arrives; needed where no number ends it."},
      scenario_times);
  if (stop) window.stop = TimePoint(to_duration(*stop));
  if (window.stop <= window.start && entry.document().mistakes() == before)
    entry.error("stop", "the class stops before it starts");
  return window;
}

/// A class of more requests than a run can keep, where each of at most `limit` arrivals is that of
/// up to `requests_each`. How many a closed loop sends before its stop depends on the answers.
void check_count(const config::Reader& entry, const ArrivalPlan& plan, const Window& window,
                 std::optional<std::int64_t> limit, std::int64_t requests_each) {
  double expected = limit ? static_cast<double>(*limit) : most_requests;
  if (!plan.closed_loop) {
    const double arriving =
        traffic::expected(rate_of(plan, window.start), to_seconds(window.stop.time_since_epoch()));
    expected = limit ? std::min(expected, arriving) : arriving;
  } else if (window.stop != TimePoint::max()) {
    return;
  }
  expected *= static_cast<double>(requests_each);
  if (expected > most_requests)
    entry.error("arrival",
                fmt::format("the class would send about {:.3g} requests, more than {:.0f}",
                            expected, most_requests),
                "lower the rate, stop earlier, or bound it with num_prompts");
}

SharedPrefix read_shared_prefix(config::Reader& entry, const Owner& owner) {
  SharedPrefix prefix{.seed = owner.seed,
                      .purpose = RandomStream::hash(std::string(owner.class_name) + "/prefixes")};
  auto section = entry.optional_section(
      {"shared_prefix", "Every prompt begins with one of a few texts, before prompt_tokens."});
  if (!section) return prefix;
  prefix.tokens = section->integer({"tokens", "Of each text."}, {1, most_tokens});
  prefix.groups =
      section->integer({"groups", "Texts, drawn with equal probability."}, {1, 1'000'000}, 1);
  section->finish();
  return prefix;
}

/// A class of single requests, after its `arrival:`.
void read_requests(config::Reader& entry, const Owner& owner, const ArrivalPlan& plan,
                   const Window& window, const SharedPrefix& prefix, Traffic& traffic) {
  constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();
  const auto limit = entry.optional_integer(
      {"num_prompts", "Requests of the class at most; needed where stop is not."}, {1, unlimited});
  if (!entry.has("num_prompts") && !entry.has("stop"))
    entry.error("arrival", "the class would never end", "give it stop, num_prompts or both");
  if (owner.good(entry)) check_count(entry, plan, window, limit, 1);
  ReadRequestLengths lengths = read_request_lengths(entry, traffic);
  lengths.longest.prompt_tokens += prefix.tokens;
  lengths.longest.total_tokens += prefix.tokens;
  traffic.longest.push_back(lengths.longest);
  if (!entry.document().ok()) return;
  Requests requests(owner.seed, owner.class_name, owner.class_index, std::move(lengths.lengths),
                    limit.value_or(unlimited), prefix);
  if (plan.closed_loop)
    traffic.sources.push_back(std::make_unique<ClosedLoop>(
        std::move(requests), plan.max_concurrency, window, plan.think_time));
  else
    traffic.sources.push_back(
        std::make_unique<OpenLoop>(std::move(requests), owner.times(plan, window)));
}

/// A class of conversations, after its `arrival:`.
void read_conversations(config::Reader& entry, const Owner& owner, const ArrivalPlan& plan,
                        const Window& window, const SharedPrefix& prefix, Traffic& traffic) {
  if (plan.closed_loop)
    entry.error(
        "arrival", "sessions arrive by an open process",
        "a client in a closed loop has no conversation: leave out session, or take poisson");
  ReadSessions sessions = read_sessions(entry);
  if (entry.has("session") && !sessions.limited && !entry.has("stop"))
    entry.error("arrival", "the class would never end",
                "give it stop, session.num_sessions or both");
  if (owner.good(entry))
    check_count(entry, plan, window,
                sessions.limited ? std::optional(sessions.plan.limit) : std::nullopt,
                longest(sessions.plan.turns));
  ReadRequestLengths lengths = read_request_lengths(entry, traffic);
  sessions.plan.lengths = std::move(lengths.lengths);
  sessions.plan.prefix = prefix;
  if (owner.good(entry)) traffic.longest.push_back(longest_turn(entry, sessions, lengths.longest));
  if (!entry.document().ok()) return;
  traffic.sources.push_back(std::make_unique<Sessions>(owner.seed, owner.class_name,
                                                       owner.class_index, std::move(sessions.plan),
                                                       owner.times(plan, window), window.stop));
}

}  // namespace

void read_generated(config::Reader& entry, std::uint64_t seed, std::string_view class_name,
                    std::uint32_t class_index, Traffic& traffic) {
  const Owner owner{seed, class_name, class_index, entry.document().mistakes()};
  config::Reader arrival = entry.section({"arrival", "When generated requests arrive."});
  const ArrivalPlan plan = read_arrival(arrival);
  arrival.finish();
  const Window window = read_window(entry);
  const SharedPrefix prefix = read_shared_prefix(entry, owner);
  const bool conversations = entry.has("session");
  entry.alternative("without session", !conversations,
                    [&] { read_requests(entry, owner, plan, window, prefix, traffic); });
  entry.alternative("without num_prompts", conversations,
                    [&] { read_conversations(entry, owner, plan, window, prefix, traffic); });
}

}  // namespace tokenline::traffic
