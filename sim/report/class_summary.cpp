#include "sim/report/class_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>

#include "sim/stats/summary.hpp"

namespace tokenline::report {
namespace {

using stats::Distribution;
using traffic::RequestClass;
using Records = std::vector<const RequestRecord*>;

bool meets(const RequestRecord& r, const traffic::Slo& slo) {
  if (r.outcome != Outcome::completed) return false;
  if (slo.ttft && r.ttft() > *slo.ttft) return false;
  if (slo.e2el && r.e2el() > *slo.e2el) return false;
  // Compared as a product, so that no rounding decides.
  return !slo.tpot || r.e2el() - r.ttft() <= *slo.tpot * (r.output_tokens - 1);
}

/// Sums over the measured requests of a group.
struct Totals {
  std::int64_t completed = 0;
  std::int64_t lost = 0;
  std::int64_t rejected = 0;
  std::int64_t timed_out = 0;
  std::int64_t lost_crash = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t preemptions = 0;
  std::int64_t retries = 0;
  std::int64_t recomputed = 0;
  std::int64_t targeted = 0;  ///< Of classes with targets,
  std::int64_t good = 0;      ///< and meeting them.
  TimePoint first_arrival = TimePoint::max();
  TimePoint last_finish{};
  std::vector<double> ttft;  ///< Milliseconds, of completed requests.
  std::vector<double> tpot;
  std::vector<double> e2el;
  std::array<std::int64_t, ttft_part_count> ttft_parts{};  ///< Nanoseconds.
  std::array<std::int64_t, part_count> e2el_parts{};
};

void add_completed(Totals& t, const RequestRecord& r) {
  ++t.completed;
  t.prompt_tokens += r.prompt_tokens;
  t.output_tokens += r.output_tokens;
  t.ttft.push_back(milliseconds(r.ttft()));
  t.e2el.push_back(milliseconds(r.e2el()));
  if (r.output_tokens > 1)
    t.tpot.push_back(milliseconds(r.e2el() - r.ttft()) / static_cast<double>(r.output_tokens - 1));
  for (std::size_t i = 0; i < part_count; ++i) {
    const auto part = static_cast<Part>(i);
    t.e2el_parts[i] += r.parts[part].count();
    if (i < ttft_part_count) t.ttft_parts[i] += r.ttft_parts[part].count();
  }
}

Totals total(const Records& records, std::span<const RequestClass> classes) {
  Totals t;
  for (auto* samples : {&t.ttft, &t.tpot, &t.e2el}) samples->reserve(records.size());
  for (const RequestRecord* r : records) {
    t.preemptions += r->preemptions;
    t.retries += r->retries;
    t.recomputed += r->recomputed_tokens;
    t.first_arrival = std::min(t.first_arrival, r->arrival);
    t.last_finish = std::max(t.last_finish, r->finish);
    if (const traffic::Slo& slo = classes[r->class_index].slo; slo.any()) {
      ++t.targeted;
      if (meets(*r, slo)) ++t.good;
    }
    if (r->outcome == Outcome::lost_oom) ++t.lost;
    if (r->outcome == Outcome::rejected) ++t.rejected;
    if (r->outcome == Outcome::timed_out) ++t.timed_out;
    if (r->outcome == Outcome::lost_crash) ++t.lost_crash;
    if (r->outcome == Outcome::completed) add_completed(t, *r);
  }
  return t;
}

/// The completed request at the nearest rank of P99 of `latency`, or null.
template <class Latency>
const RequestRecord* at_p99(const Records& records, const Latency& latency) {
  std::vector<std::pair<Duration, std::size_t>> order;
  order.reserve(records.size());
  for (std::size_t i = 0; i < records.size(); ++i)
    if (records[i]->outcome == Outcome::completed) order.emplace_back(latency(*records[i]), i);
  if (order.empty()) return nullptr;
  const std::size_t rank = (99 * order.size() + 99) / 100;
  const auto at = order.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  std::nth_element(order.begin(), at, order.end());
  return records[at->second];
}

template <class OfRecord>
Breakdown breakdown(std::span<const std::int64_t> sums, std::int64_t completed,
                    const RequestRecord* slow, const OfRecord& parts) {
  Breakdown result;
  if (slow == nullptr) return result;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    result.mean_ms.push_back(static_cast<double>(sums[i]) / 1e6 / static_cast<double>(completed));
    result.p99_ms.push_back(milliseconds(parts(*slow)[static_cast<Part>(i)]));
  }
  return result;
}

Distribution of_gaps(const stats::Histogram& gaps) {
  const auto ms = [](std::optional<Seconds> value) -> std::optional<double> {
    if (!value) return std::nullopt;
    return value->value() * 1e3;
  };
  Distribution d;
  d.mean = ms(gaps.mean());
  d.std = ms(gaps.standard_deviation());
  d.median = ms(gaps.quantile(0.50));
  d.p90 = ms(gaps.quantile(0.90));
  d.p95 = ms(gaps.quantile(0.95));
  d.p99 = ms(gaps.quantile(0.99));
  return d;
}

void add_distribution(Figures& figures, std::string_view metric, const Distribution& d) {
  for (const auto& [statistic, value] :
       {std::pair{"mean", d.mean}, std::pair{"median", d.median}, std::pair{"std", d.std},
        std::pair{"p90", d.p90}, std::pair{"p95", d.p95}, std::pair{"p99", d.p99}})
    figures.amount(fmt::format("{}_{}_ms", statistic, metric), value);
}

void add_rates(Figures& figures, const Totals& t, std::optional<double> duration) {
  const auto per_second = [&](std::int64_t count) {
    return duration ? ratio(static_cast<double>(count), *duration) : std::nullopt;
  };
  figures.amount("duration_s", duration);
  figures.count("total_input_tokens", t.prompt_tokens);
  figures.count("total_output_tokens", t.output_tokens);
  figures.amount("request_throughput", per_second(t.completed));
  figures.amount("output_throughput", per_second(t.output_tokens));
  figures.amount("total_token_throughput", per_second(t.prompt_tokens + t.output_tokens));
  const bool targets = t.targeted > 0;
  figures.amount("request_goodput", targets ? per_second(t.good) : std::nullopt);
  figures.amount("goodput_fraction",
                 ratio(static_cast<double>(t.good), static_cast<double>(t.targeted)));
}

/// A group of requests: one class, or all.
struct Group {
  std::string name;
  bool has_targets = false;
  Records records;
  stats::Histogram gaps;
};

ClassSummary summarize_group(const Group& group, std::span<const RequestClass> classes,
                             const std::optional<MeasureWindow>& window) {
  Totals t = total(group.records, classes);
  const auto offered = static_cast<std::int64_t>(group.records.size());
  std::optional<double> duration;
  if (offered > 0)
    duration = to_seconds(t.last_finish - (window ? window->from : t.first_arrival)).value();

  ClassSummary result;
  result.name = group.name;
  result.has_targets = group.has_targets;
  Figures& figures = result.figures;
  figures.count("offered", offered);
  figures.count("completed", t.completed);
  figures.count("failed", offered - t.completed);
  figures.count("lost_oom", t.lost);
  figures.count("rejected", t.rejected);
  figures.count("timed_out", t.timed_out);
  figures.count("lost_crash", t.lost_crash);
  add_rates(figures, t, duration);
  add_distribution(figures, "ttft", stats::summarize(t.ttft));
  add_distribution(figures, "tpot", stats::summarize(t.tpot));
  add_distribution(figures, "itl", of_gaps(group.gaps));
  add_distribution(figures, "e2el", stats::summarize(t.e2el));
  const auto longest = group.gaps.max();
  figures.amount("max_itl_ms", longest ? std::optional(milliseconds(*longest)) : std::nullopt);
  figures.count("preemptions", t.preemptions);
  figures.count("retries", t.retries);
  figures.count("recomputed_tokens", t.recomputed);

  result.ttft = breakdown(t.ttft_parts, t.completed,
                          at_p99(group.records, [](const RequestRecord& r) { return r.ttft(); }),
                          [](const RequestRecord& r) { return r.ttft_parts; });
  result.e2el = breakdown(t.e2el_parts, t.completed,
                          at_p99(group.records, [](const RequestRecord& r) { return r.e2el(); }),
                          [](const RequestRecord& r) { return r.parts; });
  return result;
}

}  // namespace

std::vector<Share> largest_parts(const std::vector<double>& by_part_ms) {
  double sum = 0.0;
  for (const double amount : by_part_ms) sum += amount;
  std::vector<Share> shares;
  for (std::size_t i = 0; i < by_part_ms.size(); ++i)
    if (by_part_ms[i] > 0.0)
      shares.push_back({static_cast<Part>(i), by_part_ms[i], by_part_ms[i] / sum});
  std::ranges::stable_sort(shares, std::ranges::greater{}, &Share::amount_ms);
  return shares;
}

std::vector<ClassSummary> summarize_classes(const RunResult& run,
                                            const std::optional<MeasureWindow>& window) {
  std::vector<Group> groups{{.name = "all", .has_targets = false, .records = {}, .gaps = {}}};
  for (std::size_t i = 0; i < run.classes.size(); ++i) {
    const RequestClass& c = run.classes[i];
    groups.push_back({c.name, c.slo.any(), {}, run.log.token_gaps[i]});
    groups.front().gaps.merge(run.log.token_gaps[i]);
    groups.front().has_targets |= c.slo.any();
  }
  const bool several = run.classes.size() > 1;
  for (const RequestRecord& r : run.log.records) {
    if (!r.measured) continue;
    if (several) groups.front().records.push_back(&r);
    groups[r.class_index + 1].records.push_back(&r);
  }
  std::vector<ClassSummary> summaries;
  if (run.classes.size() == 1) {
    const ClassSummary only = summarize_group(groups[1], run.classes, window);
    summaries = {only, only};
    summaries.front().name = groups.front().name;
    return summaries;
  }
  for (const Group& group : groups)
    summaries.push_back(summarize_group(group, run.classes, window));
  return summaries;
}

std::vector<std::string> class_figure_keys() { return summarize_group({}, {}, {}).figures.keys(); }

}  // namespace tokenline::report
