#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "tools/sweep/result_folder.hpp"
#include "tools/sweep/sweep.hpp"

namespace tokenline::sweep {

/// The points of shard `shard` of `shards`, in the order of the sweep. Each point is in exactly
/// one; of points that are the same one is taken for all. Points are dealt out in the order of
/// their digests, so that shards are of one size, give or take one, and slow points are spread.
[[nodiscard]] std::vector<std::size_t> shard_of(const Sweep& sweep, std::size_t shard,
                                                std::size_t shards);

/// How far a run is.
struct RunProgress {
  std::size_t points = 0;     ///< Of this shard.
  std::size_t found = 0;      ///< With a result before the run, or by another process.
  std::size_t simulated = 0;  ///< By this run,
  std::size_t failed = 0;     ///< and without a result.
};

/// A point without a result, and why.
struct FailedPoint {
  std::size_t point = 0;  ///< Into Sweep::points.
  std::string what;
  bool our_bug = false;  ///< A broken invariant or a failed audit.
};

struct RunReport {
  RunProgress counts;
  std::vector<FailedPoint> failures;
};

struct RunOptions {
  std::size_t threads = 1;
  std::function<PointResult(const Point&)> run = [](const Point& point) {
    return run_point(point);
  };
  /// No point begins after it says true; those under way are finished.
  std::function<bool()> stopped = [] { return false; };
  /// Called after every point, by one thread at a time.
  std::function<void(const RunProgress&)> progress = [](const RunProgress&) {};
};

/// Simulates those of the points that have no result in the folder, and keeps each result as soon
/// as it is there. A point that fails keeps no other from being run. Throws OutputError when a
/// result cannot be written; no point begins after that. Interrupted, where `run` throws it, goes
/// to the caller.
[[nodiscard]] RunReport run_points(const Sweep& sweep, const std::vector<std::size_t>& points,
                                   const ResultFolder& folder, const RunOptions& options);

}  // namespace tokenline::sweep
