#include "sim/report/why/why.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "sim/base/check.hpp"
#include "sim/report/why/apportion.hpp"

namespace tokenline::report {
namespace {

using stats::Int128;

constexpr std::size_t top = 5;

void add(BlameSum& sum, const Evidence& evidence, const Sample& sample) {
  if (sample.value == Duration{}) return;
  if (sample.request)
    sum.add(evidence.life(*sample.request), sample.from, sample.to, sample.weight);
  else
    sum.add({sample.steps}, sample.from, sample.to, sample.weight);
}

Side side(const Evidence& evidence, const std::vector<Sample>& samples) {
  Side side;
  BlameSum sum(evidence);
  for (const Sample& sample : samples) {
    side.samples += sample.weight;
    side.tokens += sample.weight * sample.tokens;
    side.time += sample.weight * sample.value;
    add(sum, evidence, sample);
  }
  side.blame = sum.finish();
  TOKENLINE_CHECK(side.blame.total() == side.time, "{} ns of requests are blamed as {} ns",
                  side.time.count(), side.blame.total().count());
  return side;
}

/// Who the prompts of a share are.
void count_prompts(ExcessShare& share, const Blame& blame, const RequestRecords& records) {
  if (share.culprit.cause != Cause::prompts) return;
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    if (prompt_of(records[i]) != share.culprit) continue;
    const bool took = std::ranges::any_of(blame.by_request, [&](const auto& part) {
      return (!share.part || part.first == *share.part) && part.second[i] > Duration{};
    });
    if (!took) continue;
    share.request = i;
    ++share.prompts;
  }
  if (share.prompts != 1) share.request.reset();
}

/// Adds a share to that of the same cause.
void add_to(std::vector<ExcessShare>& causes, const ExcessShare& share) {
  auto found = std::ranges::find(causes, share.culprit, &ExcessShare::culprit);
  if (found == causes.end())
    found = causes.insert(found, {.part = {}, .culprit = share.culprit, .request = {}});
  found->tail += share.tail;
  found->typical += share.typical;
  found->excess += share.excess;
}

void share_out(Explanation& e, const RequestRecords& records) {
  std::set<std::pair<Part, Culprit>> keys;
  for (const Side* side : {&e.tail, &e.typical})
    for (const auto& [key, time] : side->blame.time) keys.insert(key);
  const auto of = [](const Side& side, const std::pair<Part, Culprit>& key) {
    const auto found = side.blame.time.find(key);
    return found == side.blame.time.end() ? Duration{} : found->second;
  };
  std::vector<Int128> numerators;
  for (const auto& key : keys) {
    e.shares.push_back({.part = key.first,
                        .culprit = key.second,
                        .tail = of(e.tail, key),
                        .typical = of(e.typical, key),
                        .request = {}});
    numerators.push_back(static_cast<Int128>(e.shares.back().tail.count()) * e.typical.tokens -
                         static_cast<Int128>(e.shares.back().typical.count()) * e.tail.tokens);
  }
  std::vector<Duration> rounded(numerators.size());
  round_fractions(numerators, static_cast<Int128>(e.tail.tokens) * e.typical.tokens, rounded);
  for (std::size_t i = 0; i < rounded.size(); ++i) {
    e.shares[i].excess = rounded[i];
    e.excess += rounded[i];
    add_to(e.causes, e.shares[i]);
  }
  for (auto* shares : {&e.shares, &e.causes}) {
    std::ranges::stable_sort(*shares, std::ranges::greater{}, &ExcessShare::excess);
    for (ExcessShare& share : *shares) count_prompts(share, e.tail.blame, records);
  }
}

std::vector<PromptShare> top_prompts(const Blame& blame) {
  std::vector<PromptShare> all;
  for (const auto& [part, by_request] : blame.by_request) {
    all.resize(by_request.size());
    for (std::uint32_t i = 0; i < by_request.size(); ++i) {
      all[i].request = i;
      all[i].tail += by_request[i];
    }
  }
  std::ranges::stable_sort(all, std::ranges::greater{}, &PromptShare::tail);
  const auto none = std::ranges::find(all, Duration{}, &PromptShare::tail);
  all.erase(std::min(none, all.begin() + static_cast<std::ptrdiff_t>(std::min(top, all.size()))),
            all.end());
  return all;
}

/// A sixtieth of the run or a little more: 1, 2 or 5 times a power of ten, of milliseconds at
/// least.
Duration tick_of(TimePoint end) {
  Duration tick = std::chrono::milliseconds(1);
  for (std::size_t i = 0; 60 * tick < end.time_since_epoch(); ++i)
    tick = i % 3 == 1 ? tick / 2 * 5 : 2 * tick;
  return tick;
}

void find_when(Explanation& e, const std::vector<Sample>& tail, TimePoint end) {
  const Duration tick = tick_of(end);
  std::vector<Duration> spent(static_cast<std::size_t>(end.time_since_epoch() / tick) + 1);
  for (const Sample& sample : tail)
    for (TimePoint at = sample.from; at < sample.to;) {
      const auto i = at.time_since_epoch() / tick;
      const TimePoint next = std::min(sample.to, TimePoint(tick * (i + 1)));
      spent[static_cast<std::size_t>(i)] += (next - at) * sample.weight;
      at = next;
    }
  Duration inside{};
  std::size_t begin = 0;
  std::size_t shortest = spent.size() + 1;
  for (std::size_t i = 0; i < spent.size(); ++i) {
    inside += spent[i];
    while (begin < i && 5 * (inside - spent[begin]) >= 4 * e.tail.time) inside -= spent[begin++];
    if (5 * inside < 4 * e.tail.time || i + 1 - begin >= shortest) continue;
    shortest = i + 1 - begin;
    e.from = TimePoint(tick * static_cast<std::int64_t>(begin));
    e.to = TimePoint(tick * static_cast<std::int64_t>(i + 1));
    e.inside = inside;
  }
}

std::vector<LongGap> longest_gaps(const Evidence& evidence, const std::vector<Sample>& tail) {
  std::vector<LongGap> gaps;
  std::set<TimePoint> ends;
  for (auto at = tail.rbegin(); at != tail.rend() && gaps.size() < top; ++at) {
    if (!ends.insert(at->to).second) continue;
    Sample one = *at;
    one.weight = 1;
    BlameSum sum(evidence);
    add(sum, evidence, one);
    gaps.push_back({.sample = *at, .blame = sum.finish()});
  }
  return gaps;
}

}  // namespace

std::string_view name(Latency latency) {
  static constexpr std::array<std::string_view, 4> names{"ttft", "tpot", "itl", "e2el"};
  return names.at(static_cast<std::size_t>(latency));
}

std::string_view name(Cause cause) {
  static constexpr std::array<std::string_view, 11> names{
      "own",        "prompts",  "decodes", "host",   "pipeline", "idle",
      "preemption", "transfer", "crash",   "client", "door"};
  return names.at(static_cast<std::size_t>(cause));
}

Duration Explanation::excess_of(Part part) const {
  Duration sum{};
  for (const ExcessShare& share : shares)
    if (share.part == part) sum += share.excess;
  return sum;
}

Explanation explain(const Evidence& evidence, const Question& question) {
  Explanation e;
  e.question = question;
  const Samples samples(evidence, question.latency, question.class_index);
  e.samples = samples.count();
  if (e.samples == 0) return e;
  e.p50 = samples.at_percent(50);
  e.p99 = samples.at_percent(99);
  const std::vector<Sample> tail = samples.from_percent(99);
  e.tail = side(evidence, tail);
  e.typical = side(evidence, samples.between_percent(40, 60));
  share_out(e, evidence.run().log.records);
  e.prompts = top_prompts(e.tail.blame);
  find_when(e, tail, evidence.run().end);
  if (question.latency == Latency::itl) e.longest = longest_gaps(evidence, tail);
  return e;
}

}  // namespace tokenline::report
