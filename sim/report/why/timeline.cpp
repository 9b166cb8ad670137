#include "sim/report/why/timeline.hpp"

#include <algorithm>

namespace tokenline::report {
namespace {

/// Appends cells, cut where decisions are made.
class CellWriter {
 public:
  CellWriter(const InstanceLog& log, std::vector<Cell>& cells) : log_(log), cells_(cells) {}

  /// Of the time up to `to` all that is not written yet.
  void write(TimePoint to, std::uint32_t step, bool host) {
    while (written_ < to) {
      while (next_ < log_.decisions.size() && log_.decisions[next_].when <= written_) ++next_;
      const bool decided = next_ < log_.decisions.size();
      const TimePoint end = decided ? std::min(to, log_.decisions[next_].when) : to;
      const Blocked waited = decided ? log_.decisions[next_].waited : Blocked::nothing;
      cells_.push_back({.from = written_, .to = end, .step = step, .host = host, .waited = waited});
      written_ = end;
    }
  }

 private:
  const InstanceLog& log_;
  std::vector<Cell>& cells_;
  TimePoint written_{};
  std::size_t next_ = 0;  ///< Decision.
};

}  // namespace

std::vector<Cell> timeline(const InstanceLog& log) {
  std::vector<Cell> cells;
  CellWriter writer(log, cells);
  for (std::uint32_t i = 0; i < log.steps.size(); ++i) {
    const LoggedStep& step = log.steps[i];
    const TimePoint end = log.ended(i);
    writer.write(step.begin, no_step, false);
    writer.write(std::min(end, step.begin + step.host), i, true);
    writer.write(end, i, false);
  }
  if (!log.decisions.empty()) writer.write(log.decisions.back().when, no_step, false);
  return cells;
}

std::size_t cell_at(const std::vector<Cell>& cells, TimePoint when) {
  const auto after = std::ranges::upper_bound(cells, when, {}, &Cell::to);
  return static_cast<std::size_t>(after - cells.begin());
}

}  // namespace tokenline::report
