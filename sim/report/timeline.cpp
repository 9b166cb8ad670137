#include "sim/report/timeline.hpp"

#include <algorithm>
#include <cmath>

#include "sim/report/figures.hpp"

namespace tokenline::report {
namespace {

/// Calls `part(bin, overlap)` for each bin that [from, to) touches.
template <class Part>
void for_each_bin(std::vector<TimelineBin>& bins, Duration width, TimePoint from, TimePoint to,
                  const Part& part) {
  while (from < to) {
    const auto index = static_cast<std::size_t>(from.time_since_epoch() / width);
    const TimePoint until =
        std::min(to, TimePoint{} + width * static_cast<std::int64_t>(index + 1));
    if (bins.size() <= index) bins.resize(index + 1);
    part(bins[index], until - from);
    from = until;
  }
}

std::int64_t prompt_tokens(const ObservedStep& step) {
  std::int64_t tokens = 0;
  for (const ObservedPiece& piece : step.pieces) tokens += piece.chunk.new_tokens;
  return tokens;
}

int quarter_octaves(double value) { return static_cast<int>(std::floor(std::log2(value) * 4.0)); }

void add_to_roofline(Lane& lane, const ObservedStep& step) {
  const double seconds = to_seconds(step.gpu).value();
  if (step.flops.value() <= 0.0 || step.hbm_bytes.value() <= 0.0 || seconds <= 0.0) return;
  StepKind kind = StepKind::decode;
  if (!step.pieces.empty()) kind = step.decode_sequences > 0 ? StepKind::mixed : StepKind::prefill;
  RooflineCell& cell = lane.roofline[{static_cast<int>(kind),
                                      quarter_octaves(step.flops.value() / step.hbm_bytes.value()),
                                      quarter_octaves(step.flops.value() / seconds)}];
  ++cell.steps;
  cell.flops += step.flops;
  cell.hbm_bytes += step.hbm_bytes;
  cell.gpu_s += seconds;
}

}  // namespace

void GaugeBin::add(const GaugeBin& other) {
  integral += other.integral;
  least = std::min(least, other.least);
  most = std::max(most, other.most);
}

void TimelineBin::add(const TimelineBin& other) {
  for (std::size_t i = 0; i < gauge_count; ++i) gauges[i].add(other.gauges[i]);
  busy_s += other.busy_s;
  flops += other.flops;
  hbm_bytes += other.hbm_bytes;
}

void Timeline::step(const ObservedStep& step) {
  reserve(step.instance, step.end);
  close(step.instance, step.begin);
  Lane& lane = lanes_[step.instance];
  Open& open = open_[step.instance];
  // Steps of several micro-batches overlap: the time that one before has taken is not taken again.
  const TimePoint from = std::max(open.until, step.begin);
  if (step.end > from)
    open.segments.push_back(
        {from,
         step.end,
         {static_cast<double>(step.waiting_requests), static_cast<double>(step.running),
          static_cast<double>(step.kv_used_blocks), static_cast<double>(step.decode_sequences),
          static_cast<double>(prompt_tokens(step)), milliseconds(step.end - step.begin)}});
  open.until = std::max(open.until, step.end);
  const double whole = to_seconds(step.end - step.begin).value();
  for_each_bin(lane.bins, width_, step.begin, step.end, [&](TimelineBin& bin, Duration overlap) {
    const double share = to_seconds(overlap).value() / whole;
    bin.flops += share * step.flops;
    bin.hbm_bytes += share * step.hbm_bytes;
  });
  add_to_roofline(lane, step);
}

void Timeline::sequence(const ObservedEvent& /*event*/) {}

void Timeline::down(std::uint32_t instance, TimePoint from, TimePoint until) {
  reserve(instance, from);
  close(instance, from);
  for (Segment& segment : open_[instance].segments) {
    segment.to = std::min(segment.to, from);
    add(lanes_[instance], segment);
  }
  open_[instance] = {.segments = {}, .until = from};
  std::vector<DownTime>& down = lanes_[instance].down;
  if (!down.empty() && down.back().until > from) down.back().until = from;
  down.push_back({from, until});
}

void Timeline::finish(const RunResult& run, std::size_t cells) {
  lanes_.resize(run.instances.size());
  open_.resize(run.instances.size());
  for (std::uint32_t i = 0; i < lanes_.size(); ++i) {
    reserve(i, run.end);
    close(i, TimePoint::max());
  }
  const Duration end = run.end.time_since_epoch();
  auto bins =
      std::max<std::size_t>(1, static_cast<std::size_t>((end + width_ - Duration(1)) / width_));
  for (Lane& lane : lanes_) lane.bins.resize(bins);
  while (bins > 32 && bins * lanes_.size() > cells) {
    coarsen();
    bins = lanes_.front().bins.size();
  }
}

/// Makes room for a replica, and for bins up to `until`.
void Timeline::reserve(std::uint32_t instance, TimePoint until) {
  if (lanes_.size() <= instance) {
    lanes_.resize(instance + 1);
    open_.resize(instance + 1);
  }
  while (until.time_since_epoch() / width_ >= static_cast<std::int64_t>(most_bins)) coarsen();
}

/// Adds the segments that ended before, which nothing can cut any more.
void Timeline::close(std::uint32_t instance, TimePoint before) {
  std::vector<Segment>& segments = open_[instance].segments;
  const auto later =
      std::ranges::find_if(segments, [&](const Segment& segment) { return segment.to > before; });
  for (auto segment = segments.begin(); segment != later; ++segment)
    add(lanes_[instance], *segment);
  segments.erase(segments.begin(), later);
}

void Timeline::add(Lane& lane, const Segment& segment) const {
  for_each_bin(
      lane.bins, width_, segment.from, segment.to, [&](TimelineBin& bin, Duration overlap) {
        const double seconds = to_seconds(overlap).value();
        bin.busy_s += seconds;
        for (std::size_t i = 0; i < gauge_count; ++i)
          bin.gauges[i].add({seconds * segment.values[i], segment.values[i], segment.values[i]});
      });
}

void Timeline::coarsen() {
  width_ *= 2;
  for (Lane& lane : lanes_) {
    const std::size_t bins = (lane.bins.size() + 1) / 2;
    for (std::size_t i = 0; i < bins; ++i) {
      TimelineBin merged = lane.bins[2 * i];
      if (2 * i + 1 < lane.bins.size()) merged.add(lane.bins[2 * i + 1]);
      lane.bins[i] = merged;
    }
    lane.bins.resize(bins);
  }
}

}  // namespace tokenline::report
