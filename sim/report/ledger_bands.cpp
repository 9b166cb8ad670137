#include "sim/report/ledger_bands.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "sim/report/figures.hpp"

namespace tokenline::report {
namespace {

using Ids = std::vector<std::uint32_t>;

/// From one percentile to the next.
struct Limits {
  std::string_view name;
  std::size_t from = 0;  ///< In percent; 0: the fastest.
  std::size_t to = 100;  ///< 100: up to the slowest.
};

constexpr std::array<Limits, 5> all_limits{{{"all requests", 0, 100},
                                            {"below P50", 0, 50},
                                            {"P50 to P90", 50, 90},
                                            {"P90 to P99", 90, 99},
                                            {"P99 and slower", 99, 100}}};

/// Where the request at the nearest rank of a percentile stands, of at least one.
std::size_t position(std::size_t percent, std::size_t requests) {
  if (percent == 0) return 0;
  if (percent == 100) return requests;
  return (percent * requests + 99) / 100 - 1;
}

Duration latency_of(const RequestRecord& r, SplitLatency latency) {
  return latency == SplitLatency::ttft ? r.ttft() : r.e2el();
}

Duration part_of(const RequestRecord& r, SplitLatency latency, Part part) {
  return latency == SplitLatency::ttft ? r.ttft_parts[part] : r.parts[part];
}

/// Fastest first; in the order of arrival among equals.
void sort_by_latency(Ids& ids, const RequestRecords& records, SplitLatency latency) {
  std::vector<std::pair<Duration, std::uint32_t>> order;
  order.reserve(ids.size());
  for (const std::uint32_t id : ids) order.emplace_back(latency_of(records[id], latency), id);
  std::ranges::sort(order);
  std::ranges::transform(order, ids.begin(), [](const auto& entry) { return entry.second; });
}

/// Those of `ids`, fastest first, that lost most to a part.
Ids largest(std::span<const std::uint32_t> ids, const RequestRecords& records, SplitLatency latency,
            Part part) {
  std::vector<std::pair<Duration, std::size_t>> order;
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (const Duration lost = part_of(records[ids[i]], latency, part); lost > Duration{})
      order.emplace_back(lost, i);
  const auto shown = static_cast<std::ptrdiff_t>(std::min(order.size(), LedgerSplit::behind_limit));
  std::ranges::partial_sort(order, order.begin() + shown, std::ranges::greater{});
  Ids result;
  for (auto entry = order.begin(); entry != order.begin() + shown; ++entry)
    result.push_back(ids[entry->second]);
  return result;
}

LedgerBand band(std::string_view name, std::span<const std::uint32_t> ids,
                const RequestRecords& records, SplitLatency latency) {
  LedgerBand result{.name = name,
                    .requests = static_cast<std::int64_t>(ids.size()),
                    .least_ms = milliseconds(latency_of(records[ids.front()], latency)),
                    .most_ms = milliseconds(latency_of(records[ids.back()], latency)),
                    .mean_ms = {},
                    .behind = {}};
  const std::size_t parts = latency == SplitLatency::ttft ? ttft_part_count : part_count;
  for (std::size_t i = 0; i < parts; ++i) {
    const auto part = static_cast<Part>(i);
    Duration sum{};
    for (const std::uint32_t id : ids) sum += part_of(records[id], latency, part);
    result.mean_ms.push_back(milliseconds(sum) / static_cast<double>(ids.size()));
    result.behind.push_back(largest(ids, records, latency, part));
  }
  return result;
}

LedgerSplit split(Ids ids, const RequestRecords& records, SplitLatency latency) {
  sort_by_latency(ids, records, latency);
  LedgerSplit result;
  if (ids.empty()) return result;
  for (const auto& [name, from, to] : all_limits) {
    const std::size_t first = position(from, ids.size());
    const std::size_t last = position(to, ids.size());
    if (first < last)
      result.bands.push_back(
          band(name, std::span(ids).subspan(first, last - first), records, latency));
  }
  return result;
}

Ids measured_and_completed(const RequestRecords& records) {
  Ids ids;
  for (std::uint32_t id = 0; id < records.size(); ++id)
    if (records[id].measured && records[id].outcome == Outcome::completed) ids.push_back(id);
  return ids;
}

}  // namespace

std::vector<ClassLedger> ledger_bands(const RunResult& run) {
  const RequestRecords& records = run.log.records;
  std::vector<Ids> groups(run.classes.size() + 1);
  groups.front() = measured_and_completed(records);
  for (const std::uint32_t id : groups.front()) groups[records[id].class_index + 1].push_back(id);
  std::vector<ClassLedger> ledgers;
  for (std::size_t i = run.classes.size() == 1 ? 1 : 0; i < groups.size(); ++i)
    ledgers.push_back({.name = i == 0 ? "all" : run.classes[i - 1].name,
                       .ttft = split(groups[i], records, SplitLatency::ttft),
                       .e2el = split(groups[i], records, SplitLatency::e2el)});
  return ledgers;
}

std::optional<TailInterval> tail_interval(const RunResult& run) {
  const RequestRecords& records = run.log.records;
  Ids ids = measured_and_completed(records);
  if (ids.empty()) return std::nullopt;
  sort_by_latency(ids, records, SplitLatency::ttft);
  TailInterval tail;
  for (std::size_t i = position(99, ids.size()); i < ids.size(); ++i)
    tail.arrivals.push_back(records[ids[i]].arrival);
  std::ranges::sort(tail.arrivals);
  const std::size_t held = (9 * tail.arrivals.size() + 9) / 10;
  Duration shortest = Duration::max();
  for (std::size_t i = 0; i + held <= tail.arrivals.size(); ++i) {
    const TimePoint from = tail.arrivals[i];
    const TimePoint to = tail.arrivals[i + held - 1];
    if (to - from >= shortest) continue;
    shortest = to - from;
    tail.from = from;
    tail.to = to;
  }
  return tail;
}

}  // namespace tokenline::report
