#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/report/parallel.hpp"
#include "tools/python/arrays.hpp"
#include "tools/python/bindings.hpp"
#include "tools/python/interruptible.hpp"
#include "tools/sweep/merge.hpp"
#include "tools/sweep/runner.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tokenline::python {
namespace {

using sweep::Point;
using sweep::ResultFolder;
using sweep::Sweep;

/// A point as it is sent to other processes, whatever their working directory.
using PointState = std::tuple<std::string, std::vector<std::string>, std::vector<std::string>,
                              std::uint64_t, std::string>;

PointState state_of(const Point& point) {
  return {std::filesystem::absolute(point.base).string(), point.overrides, point.values, point.seed,
          point.sha256};
}

void restore(Point& point, const PointState& state) {
  const auto& [base, overrides, values, seed, sha256] = state;
  new (&point) Point{base, overrides, values, seed, sha256};
}

Sweep read(const std::string& file, const nb::bytes& text) {
  return interruptible(
      [&, yaml = std::string(text.c_str(), text.size())](const std::stop_token& stop) {
        return sweep::parse_sweep(file, yaml, stop);
      });
}

std::string simulate_point(const Point& point) {
  return interruptible(
      [&](const std::stop_token& stop) { return sweep::result_json(run_point(point, stop)); });
}

/// Runs points and keeps what they throw, to be thrown as it is: a report has only texts.
class KeepsErrors {
 public:
  explicit KeepsErrors(std::stop_token stop) : stop_(std::move(stop)) {}

  sweep::PointResult operator()(const Point& point) {
    try {
      return sweep::run_point(point, stop_);
    } catch (const std::exception&) {
      const std::lock_guard lock(mutex_);
      errors_[point.sha256] = std::current_exception();
      throw;
    }
  }
  /// Throws what the first of the points threw.
  void rethrow(const Sweep& sweep, const std::vector<sweep::FailedPoint>& failures) {
    if (failures.empty()) return;
    const sweep::FailedPoint& first = failures.front();
    const auto error = errors_.find(sweep.points[first.point].sha256);
    if (error != errors_.end()) std::rethrow_exception(error->second);
    throw config::ConfigError({{sweep.points[first.point].base, 1, 1}, {}, first.what, {}});
  }

 private:
  std::stop_token stop_;
  std::mutex mutex_;
  std::map<std::string, std::exception_ptr> errors_;
};

void run_all(const Sweep& sweep, const ResultFolder& folder, std::optional<std::size_t> threads) {
  interruptible([&](const std::stop_token& stop) {
    KeepsErrors run(stop);
    const sweep::RunReport report =
        sweep::run_points(sweep, sweep::shard_of(sweep, 0, 1), folder,
                          {.threads = threads.value_or(report::hardware_threads()),
                           .run = [&](const Point& point) { return run(point); },
                           .stopped = [&] { return stop.stop_requested(); }});
    run.rethrow(sweep, report.failures);
  });
}

/// The points that have no result, each once.
std::vector<Point> missing(const Sweep& sweep, const ResultFolder& folder) {
  std::vector<Point> points;
  for (const std::size_t i : sweep::shard_of(sweep, 0, 1))
    if (!folder.find(sweep.points[i])) points.push_back(sweep.points[i]);
  return points;
}

void put(const ResultFolder& folder, const Point& point, const std::string& json) {
  const std::optional<sweep::PointResult> result = sweep::parse_result(json);
  if (!result || result->sha256 != point.sha256)
    throw config::ConfigError(
        {{point.base, 1, 1},
         {},
         "a worker's result is not of this point",
         "all nodes need the same version of tokenline and the same files at the same paths"});
  folder.put(*result);
}

}  // namespace

void bind_sweep(nb::module_& m) {
  nb::class_<Point>(m, "Point", "One run of a sweep: a scenario file with overrides.")
      .def_ro("base", &Point::base)
      .def_ro("overrides", &Point::overrides)
      .def_ro("values", &Point::values)
      .def_ro("seed", &Point::seed)
      .def_ro("sha256", &Point::sha256)
      .def("__getstate__", state_of)
      .def("__setstate__", restore);
  nb::class_<Sweep>(m, "Sweep", "A sweep file with its points, all checked.")
      .def_ro("name", &Sweep::name)
      .def_ro("description", &Sweep::description)
      .def_ro("axes", &Sweep::axes)
      .def_ro("points", &Sweep::points);
  nb::class_<ResultFolder>(m, "ResultFolder", "One file per result; may be shared and killed.")
      .def_static("claim", &ResultFolder::claim, "directory"_a, "sweep"_a)
      .def_prop_ro("directory", &ResultFolder::directory)
      .def(
          "missing", [](const ResultFolder& f, const Sweep& s) { return missing(s, f); }, "sweep"_a)
      .def("put", put, "point"_a, "json"_a, nb::call_guard<nb::gil_scoped_release>());
  nb::class_<sweep::Merged>(m, "Merged", "The results of a sweep, in the order of its points.")
      .def("columns", [](const sweep::Merged& merged) { return arrays(sweep_columns(merged)); })
      .def("csv", [](const sweep::Merged& merged) { return sweep::results_csv(merged); });
  m.def("read_sweep", read, "file"_a, "text"_a, "Reads a sweep and checks every point.");
  m.def("run_point", simulate_point, "point"_a, "Simulates a point; its result as JSON.");
  m.def("run_points", run_all, "sweep"_a, "folder"_a, "threads"_a.none(),
        "Simulates the points without a result.");
  m.def(
      "merge",
      [](const std::string& directory) {
        return sweep::merge(std::vector<std::string>{directory});
      },
      "directory"_a, nb::call_guard<nb::gil_scoped_release>(), "Gathers the results of a folder.");
}

}  // namespace tokenline::python
