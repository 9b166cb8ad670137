#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "sim/engine/run.hpp"

namespace tokenline::report {

/// What is followed over time. Each has the value that the replica had at the begin of a step until
/// that step ends or the next one begins; between steps it is zero.
enum class Gauge : std::uint8_t {
  waiting,           ///< Requests in the queue.
  running,           ///< Sequences in all batches.
  kv_blocks,         ///< In use.
  decode_sequences,  ///< Of the step.
  prompt_tokens,     ///< Computed in the step.
  step_time,         ///< From the decision to the end of the step, in milliseconds.
};

inline constexpr std::size_t gauge_count = 6;

/// One gauge of one replica in one bin of time.
struct GaugeBin {
  double integral = 0.0;                                   ///< ∫ value dt, in seconds.
  double least = std::numeric_limits<double>::infinity();  ///< Over the steps; infinity without.
  double most = 0.0;

  void add(const GaugeBin& other);
};

/// One replica in one bin of time.
struct TimelineBin {
  std::array<GaugeBin, gauge_count> gauges;
  double busy_s = 0.0;  ///< With a step under way.
  Flops flops;          ///< Of one GPU, spread evenly over each step, as the bytes.
  Bytes hbm_bytes;

  [[nodiscard]] const GaugeBin& of(Gauge gauge) const {
    return gauges[static_cast<std::size_t>(gauge)];
  }
  void add(const TimelineBin& other);
};

/// What a step computes.
enum class StepKind : std::uint8_t { decode, mixed, prefill };

/// Steps of one kind whose arithmetic intensity and rate are alike, on one GPU.
struct RooflineCell {
  std::int64_t steps = 0;
  Flops flops;
  Bytes hbm_bytes;
  double gpu_s = 0.0;  ///< Of all stages.
};

/// While a replica is down.
struct DownTime {
  TimePoint from{};
  TimePoint until{};
};

/// One replica over time.
struct Lane {
  using Cell = std::array<int, 3>;  ///< Kind, quarters of an octave of intensity and of rate.

  std::vector<TimelineBin> bins;
  std::map<Cell, RooflineCell> roofline;
  std::vector<DownTime> down;
};

/// Gathers what replicas do, in bins that double in width as the run gets longer: memory is bounded
/// by the number of replicas, and no extreme is lost.
class Timeline final : public RunObserver {
 public:
  static constexpr std::size_t most_bins = 512;

  void step(const ObservedStep& step) override;
  void sequence(const ObservedEvent& event) override;
  void down(std::uint32_t instance, TimePoint from, TimePoint until) override;

  /// Ends the timeline of a run of so many replicas, and coarsens it to at most `cells` bins of all
  /// replicas together, but not below 32 of each.
  void finish(const RunResult& run, std::size_t cells = 16'384);

  [[nodiscard]] Duration width() const { return width_; }
  /// The first bin begins at time zero. After finish(), all have the same number of bins.
  [[nodiscard]] const std::vector<Lane>& lanes() const { return lanes_; }

 private:
  /// The state of a replica from one decision to the next, or to the end of the step.
  struct Segment {
    TimePoint from{};
    TimePoint to{};
    std::array<double, gauge_count> values{};
  };
  /// Segments that a crash may still cut short, and where the last one ends.
  struct Open {
    std::vector<Segment> segments;
    TimePoint until{};
  };

  void reserve(std::uint32_t instance, TimePoint until);
  void close(std::uint32_t instance, TimePoint before);
  void add(Lane& lane, const Segment& segment) const;
  void coarsen();

  Duration width_ = std::chrono::milliseconds(1);
  std::vector<Lane> lanes_;
  std::vector<Open> open_;
};

}  // namespace tokenline::report
