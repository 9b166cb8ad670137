#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "sim/report/figures.hpp"
#include "sim/report/text_table.hpp"
#include "sim/report/why/why.hpp"
#include "sim/report/why/why_words.hpp"

namespace tokenline::report {
namespace {

constexpr std::size_t line_width = 100;
/// Shares of the excess that the paragraph, and the table of causes, leave out.
constexpr double too_small_to_say = 0.05;
constexpr double too_small_to_list = 0.005;

double ns(Duration time) { return static_cast<double>(time.count()); }
/// "20" or "20.05".
std::string seconds_text(TimePoint when) {
  return fmt::format("{:.6g}", to_seconds(when.time_since_epoch()).value());
}
double mean(Duration sum, const Side& side) { return ns(sum) / static_cast<double>(side.tokens); }
double latency(const Sample& sample) {
  return ns(sample.value) / static_cast<double>(sample.tokens);
}

std::string_view things(const Question& question) {
  return question.latency == Latency::itl ? "gaps between tokens" : "requests";
}

/// Writes one explanation.
class Writer {
 public:
  Writer(const Explanation& e, const RunResult& run) : e_(e), run_(run) {}

  [[nodiscard]] std::string text() const {
    std::string paragraph = opening();
    if (e_.has_tail()) paragraph += causes() + cause() + prompt() + place() + events() + holders();
    std::string out = wrapped(paragraph, 0, line_width);
    if (!out.ends_with('\n')) out += '\n';
    if (e_.has_tail()) out += '\n' + parts() + '\n' + shares() + prompts() + instances();
    return out + longest();
  }

 private:
  [[nodiscard]] double excess() const { return ns(e_.excess); }
  [[nodiscard]] bool worth_saying(const ExcessShare& share) const {
    return ns(share.excess) >= too_small_to_say * excess();
  }

  [[nodiscard]] std::string opening() const {
    const std::string what = subject(e_.question, run_);
    if (!e_.p99)
      return fmt::format(
          "{} has no tail: no measured request completed{}.", what,
          e_.question.latency == Latency::ttft || e_.question.latency == Latency::e2el
              ? ""
              : " with more than one token");
    const double p50 = latency(*e_.p50);
    const double p99 = latency(*e_.p99);
    std::string out =
        fmt::format("P99 - P50 of {} is {} ({} - {}; {} {}). ", what, time_text(p99 - p50),
                    time_text(p99), time_text(p50), e_.samples, things(e_.question));
    if (!e_.has_tail()) return out + "It has no tail: the slowest take no longer than the typical.";
    return out +
           fmt::format("The slowest {} take {} on average, {} more than the {} around the median. ",
                       e_.tail.samples, time_text(mean(e_.tail.time, e_.tail)), time_text(excess()),
                       e_.typical.samples);
  }

  [[nodiscard]] std::vector<std::pair<Duration, Part>> largest_parts() const {
    std::vector<std::pair<Duration, Part>> all;
    for (std::size_t i = 0; i < part_count; ++i)
      all.emplace_back(e_.excess_of(static_cast<Part>(i)), static_cast<Part>(i));
    std::ranges::stable_sort(all, std::ranges::greater{}, &std::pair<Duration, Part>::first);
    return all;
  }

  [[nodiscard]] std::string causes() const {
    std::string out;
    for (const auto& [excess_ns, part] : largest_parts()) {
      if (ns(excess_ns) < too_small_to_say * excess()) continue;
      out += fmt::format("{}{} is {}", out.empty() ? "Of that " : "; ",
                         share_text(ns(excess_ns), excess()), phrase(part));
      std::string whom;
      for (const ExcessShare& share : e_.shares) {
        if (share.part != part || !worth_saying(share)) continue;
        if (share.culprit.cause == Cause::own) {
          if (const auto slow = straggler(); !slow.empty()) whom = " (" + slow;
          continue;
        }
        whom += fmt::format("{}{} {}", whom.empty() ? " (" : ", ",
                            share_text(ns(share.excess), excess()), blamed(share, run_));
      }
      out += whom.empty() ? whom : whom + ")";
    }
    return out.empty() ? out : out + ". ";
  }

  /// The replica that was slow in most of the tail's time, and in far less of the typical: what of
  /// the excess is of one's own is its doing.
  [[nodiscard]] std::string straggler() const {
    for (const auto& [index, time] : e_.tail.blame.by_fault) {
      const Fault& fault = run_.faults[index].fault;
      const auto found = e_.typical.blame.by_fault.find(index);
      const Duration other = found == e_.typical.blame.by_fault.end() ? Duration{} : found->second;
      const double share = ns(time) / ns(e_.tail.time);
      if (fault.kind == FaultKind::straggler && share >= 0.5 &&
          ns(other) <= 0.5 * share * ns(e_.typical.time))
        return fmt::format("on {}, {:g} times slower as a straggler",
                           run_.instances[fault.replica].name, fault.slowdown);
    }
    return {};
  }

  /// What is to blame for several parts.
  [[nodiscard]] std::string cause() const {
    const auto first = std::ranges::find_if(
        e_.causes, [](const ExcessShare& share) { return share.culprit.cause != Cause::own; });
    if (first == e_.causes.end()) return {};
    const auto parts = std::ranges::count_if(e_.shares, [&](const ExcessShare& share) {
      return share.culprit == first->culprit && worth_saying(share);
    });
    if (parts < 2) return {};
    return fmt::format("Over all parts, {} is {}. ", share_text(ns(first->excess), excess()),
                       blamed(*first, run_));
  }

  [[nodiscard]] std::string prompt() const {
    if (e_.prompts.empty()) return {};
    const PromptShare& first = e_.prompts.front();
    if (ns(first.tail) < too_small_to_say * ns(e_.tail.time)) return {};
    return fmt::format("The one prompt that took most is {}: {} of the tail's time. ",
                       described(first.request, run_),
                       share_text(ns(first.tail), ns(e_.tail.time)));
  }

  [[nodiscard]] std::string place() const {
    std::string out;
    const auto& places = e_.tail.blame.by_instance;
    const auto most = std::ranges::max_element(places, {}, [](const auto& p) { return p.second; });
    if (run_.instances.size() > 1 && most != places.end())
      out = fmt::format("{} of the tail's time passed on {}. ",
                        share_text(ns(most->second), ns(e_.tail.time)),
                        run_.instances[most->first].name);
    if (2 * (e_.to - e_.from) > run_.end.time_since_epoch())
      return out + "The tail's time is spread over the run. ";
    return out + fmt::format("{} of the tail's time fell between {} and {} s. ",
                             share_text(ns(e_.inside), ns(e_.tail.time)), seconds_text(e_.from),
                             seconds_text(e_.to));
  }

  [[nodiscard]] std::string events() const {
    std::string out;
    for (const auto& [crash, time] : e_.tail.blame.by_crash)
      if (ns(time) >= too_small_to_say * ns(e_.tail.time))
        out += fmt::format("The crash of {} at {} s cost {} of the tail's time. ",
                           run_.instances[crash.first].name, seconds_text(crash.second),
                           share_text(ns(time), ns(e_.tail.time)));
    for (const auto& [index, time] : e_.tail.blame.by_fault) {
      const Fault& fault = run_.faults[index].fault;
      if (ns(time) < too_small_to_say * ns(e_.tail.time)) continue;
      const auto typical = e_.typical.blame.by_fault.find(index);
      const Duration other =
          typical == e_.typical.blame.by_fault.end() ? Duration{} : typical->second;
      out += fmt::format(
          "{} of the tail's time ({} of the typical) passed while {}, between {} and {} s ({}). ",
          share_text(ns(time), ns(e_.tail.time)), share_text(ns(other), ns(e_.typical.time)),
          effect(fault), seconds_text(fault.at), seconds_text(fault.to), name(fault.kind));
    }
    return out;
  }

  [[nodiscard]] std::string effect(const Fault& fault) const {
    if (fault.kind == FaultKind::straggler)
      return fmt::format("{} was {:g} times slower", run_.instances[fault.replica].name,
                         fault.slowdown);
    return fmt::format("{} had {:g} of the bandwidth", hw::name(fault.brownout),
                       fault.brownout.bandwidth_factor);
  }

  [[nodiscard]] std::string holders() const {
    std::string out;
    for (const Part part : {Part::wait_sequence_slot, Part::wait_kv_blocks, Part::preempted}) {
      const Duration time = e_.tail.blame.of(part);
      if (ns(time) < too_small_to_say * ns(e_.tail.time)) continue;
      std::string who;
      for (std::uint32_t c = 0; c < run_.classes.size(); ++c)
        if (const auto held = e_.tail.blame.holders.find({part, c});
            held != e_.tail.blame.holders.end())
          who += fmt::format("{}{} of class {}", who.empty() ? "" : ", ",
                             figure_text(held->second / ns(time)), run_.classes[c].name);
      if (!who.empty())
        out += fmt::format("During `{}` this many sequences ran: {}. ", name(part), who);
    }
    return out;
  }

  [[nodiscard]] std::string parts() const {
    TextTable table(1);
    table.row({"", "tail", "typical", "excess", "of the"});
    table.row({"part", "mean ms", "mean ms", "ms", "excess"});
    for (const auto& [excess_ns, part] : largest_parts()) {
      const Duration tail = e_.tail.blame.of(part);
      const Duration typical = e_.typical.blame.of(part);
      if (tail == Duration{} && typical == Duration{}) continue;
      table.row({std::string(name(part)), figure_text(mean(tail, e_.tail) / 1e6),
                 figure_text(mean(typical, e_.typical) / 1e6), figure_text(ns(excess_ns) / 1e6),
                 share_text(ns(excess_ns), excess())});
    }
    table.row({"sum", figure_text(mean(e_.tail.time, e_.tail) / 1e6),
               figure_text(mean(e_.typical.time, e_.typical) / 1e6), figure_text(excess() / 1e6),
               share_text(1.0, 1.0)});
    return table.text();
  }

  [[nodiscard]] std::string shares() const {
    TextTable table(2);
    table.row({"part", "cause", "excess ms", "of it"});
    for (const ExcessShare& share : e_.shares) {
      if (share.culprit.cause == Cause::own ||
          std::abs(ns(share.excess)) < too_small_to_list * excess())
        continue;
      table.row({std::string(name(*share.part)), blamed(share, run_),
                 figure_text(ns(share.excess) / 1e6), share_text(ns(share.excess), excess())});
    }
    return table.text();
  }

  [[nodiscard]] std::string prompts() const {
    if (e_.prompts.empty()) return {};
    TextTable table(1);
    table.row({"prompt that took most", "arrival s", "of the tail's time"});
    for (const PromptShare& prompt : e_.prompts)
      table.row({described(prompt.request, run_),
                 seconds_text(run_.log.records[prompt.request].arrival),
                 fmt::format("{:.1f} %", 100.0 * ns(prompt.tail) / ns(e_.tail.time))});
    return '\n' + table.text();
  }

  [[nodiscard]] std::string instances() const {
    if (run_.instances.size() < 2) return {};
    TextTable table(1);
    table.row({"instance", "of the tail's time", "of the typical"});
    const auto of = [](const Side& side, std::uint32_t i) {
      const auto found = side.blame.by_instance.find(i);
      return found == side.blame.by_instance.end() ? 0.0 : ns(found->second);
    };
    for (std::uint32_t i = 0; i < run_.instances.size(); ++i)
      table.row({run_.instances[i].name, share_text(of(e_.tail, i), ns(e_.tail.time)),
                 share_text(of(e_.typical, i), ns(e_.typical.time))});
    return '\n' + table.text();
  }

  [[nodiscard]] std::string longest() const {
    if (e_.longest.empty()) return {};
    TextTable table(3);
    table.row({"longest gap", "on", "what took most of it", "ends at s", "sequences"});
    for (const LongGap& gap : e_.longest) {
      const auto& time = gap.blame.time;
      const auto most = std::ranges::max_element(time, {}, [](const auto& t) { return t.second; });
      if (most == time.end()) continue;
      table.row({time_text(ns(gap.sample.value)),
                 run_.instances[gap.blame.by_instance.begin()->first].name,
                 fmt::format("{} {}{}", share_text(ns(most->second), ns(gap.sample.value)),
                             phrase(most->first.first), largest_prompt(gap, most->first.first)),
                 seconds_text(gap.sample.to), fmt::format("{}", gap.sample.weight)});
    }
    return '\n' + table.text();
  }

  [[nodiscard]] std::string largest_prompt(const LongGap& gap, Part part) const {
    const auto found = gap.blame.by_request.find(part);
    if (found == gap.blame.by_request.end()) return {};
    const auto most = std::ranges::max_element(found->second);
    const auto request = static_cast<std::uint32_t>(most - found->second.begin());
    return fmt::format(", most by {}", described(request, run_));
  }

  const Explanation& e_;
  const RunResult& run_;
};

}  // namespace

std::string why_text(const Explanation& explanation, const RunResult& run) {
  return Writer(explanation, run).text();
}

}  // namespace tokenline::report
