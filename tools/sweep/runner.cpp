#include "tools/sweep/runner.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <mutex>
#include <new>

#include "sim/report/parallel.hpp"
#include "sim/report/run_directory.hpp"

namespace tokenline::sweep {
namespace {

/// What the threads of a run share.
class PointRunner {
 public:
  PointRunner(const Sweep& sweep, const ResultFolder& folder, const RunOptions& options,
              std::size_t points)
      : sweep_(sweep), folder_(folder), options_(options) {
    report_.counts.points = points;
  }

  /// One of those with a result stays as it is.
  void take(std::size_t index) {
    if (halted()) return;
    const Point& point = sweep_.points[index];
    if (folder_.find(point)) return count(&RunProgress::found);
    try {
      simulate(point);
      count(&RunProgress::simulated);
    } catch (const report::OutputError&) {
      halt(std::current_exception());
    } catch (const config::ConfigError& e) {
      fail({index, e.what(), false});
    } catch (const std::bad_alloc&) {
      fail({index, "out of memory", false});
    } catch (const std::exception& e) {
      fail({index, e.what(), true});
    }
  }

  RunReport finish() {
    if (output_error_) std::rethrow_exception(output_error_);
    std::ranges::sort(report_.failures, {}, &FailedPoint::point);
    return std::move(report_);
  }

 private:
  void simulate(const Point& point) const {
    const PointResult result = options_.run(point);
    if (result.sha256 != point.sha256)
      throw config::ConfigError({{point.base, 1, 1},
                                 {},
                                 "the scenario or one of its files has changed since the sweep "
                                 "began",
                                 "run the sweep again"});
    folder_.put(result);
  }

  bool halted() {
    const std::lock_guard lock(mutex_);
    return output_error_ != nullptr || options_.stopped();
  }

  void count(std::size_t RunProgress::* which) {
    const std::lock_guard lock(mutex_);
    ++(report_.counts.*which);
    options_.progress(report_.counts);
  }

  void fail(FailedPoint failure) {
    {
      const std::lock_guard lock(mutex_);
      report_.failures.push_back(std::move(failure));
    }
    count(&RunProgress::failed);
  }

  void halt(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!output_error_) output_error_ = std::move(error);
  }

  const Sweep& sweep_;
  const ResultFolder& folder_;
  const RunOptions& options_;
  std::mutex mutex_;
  RunReport report_;
  std::exception_ptr output_error_;
};

}  // namespace

std::vector<std::size_t> shard_of(const Sweep& sweep, std::size_t shard, std::size_t shards) {
  std::map<std::string_view, std::size_t> first;
  for (std::size_t i = 0; i < sweep.points.size(); ++i) first.emplace(sweep.points[i].sha256, i);
  std::vector<std::size_t> mine;
  std::size_t rank = 0;
  for (const auto& [sha256, point] : first)
    if (rank++ % shards == shard) mine.push_back(point);
  std::ranges::sort(mine);
  return mine;
}

RunReport run_points(const Sweep& sweep, const std::vector<std::size_t>& points,
                     const ResultFolder& folder, const RunOptions& options) {
  PointRunner runner(sweep, folder, options, points.size());
  report::for_each_index(points.size(), options.threads,
                         [&](std::size_t i) { runner.take(points[i]); });
  return runner.finish();
}

}  // namespace tokenline::sweep
