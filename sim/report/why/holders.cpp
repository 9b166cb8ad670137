#include "sim/report/why/holders.hpp"

#include <algorithm>

namespace tokenline::report {
namespace {

/// Whether it runs after the event, or before.
bool enters(SequenceEvent event) { return event == SequenceEvent::admitted; }
bool leaves(SequenceEvent event) {
  return event == SequenceEvent::preempted || event == SequenceEvent::finished ||
         event == SequenceEvent::handed_over || event == SequenceEvent::given_up ||
         event == SequenceEvent::lost;
}

}  // namespace

std::map<std::pair<Part, std::uint32_t>, double> Holders::count(const RunLog& log,
                                                                const RunResult& run) {
  std::map<std::pair<Part, std::uint32_t>, double> held;
  const auto nobody = [](const auto& waits) { return waits.empty(); };
  if (std::ranges::all_of(waits_, nobody)) return held;
  for (auto& waits : waits_) std::ranges::sort(waits, {}, &Wait::from);
  std::vector<std::size_t> next(waits_.size());
  std::vector<std::vector<std::int64_t>> running(waits_.size(),
                                                 std::vector<std::int64_t>(run.classes.size()));
  std::vector<bool> runs(run.log.records.size());
  // Up to the event nothing has changed since the one before.
  const auto pass = [&](std::uint32_t i, TimePoint when) {
    for (; next[i] < waits_[i].size() && waits_[i][next[i]].from < when; ++next[i]) {
      const Wait& wait = waits_[i][next[i]];
      for (std::uint32_t c = 0; c < run.classes.size(); ++c)
        if (running[i][c] > 0)
          held[{wait.part, c}] +=
              static_cast<double>(wait.time.count()) * static_cast<double>(running[i][c]);
    }
  };
  for (const LoggedEvent& event : log.events()) {
    const bool in = enters(event.event);
    if (!in && !(leaves(event.event) && runs[event.request])) continue;
    pass(event.instance, event.when);
    running[event.instance][run.log.records[event.request].class_index] += in ? 1 : -1;
    runs[event.request] = in;
  }
  for (std::uint32_t i = 0; i < waits_.size(); ++i) pass(i, TimePoint::max());
  return held;
}

}  // namespace tokenline::report
