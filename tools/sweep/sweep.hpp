#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/reader.hpp"
#include "sim/report/figures.hpp"

namespace tokenline::sweep {

/// One run of a sweep: a scenario file with overrides. All that run_point() needs, so that points
/// can be sent elsewhere.
struct Point {
  std::string base;                    ///< Path of the scenario; empty in a manifest's.
  std::vector<std::string> overrides;  ///< As `--set` takes them; likewise.
  std::vector<std::string> values;     ///< By axis, as the sweep states them.
  std::uint64_t seed = 0;
  /// SHA-256 of everything the result depends on: the version of Tokenline, the resolved scenario
  /// with its seed, and the bytes of its data files. Names the result's file.
  std::string sha256;
};

/// A sweep file with its points, all checked. The first axis of the file varies slowest, seeds
/// vary fastest.
struct Sweep {
  std::string name;
  std::string description;
  std::vector<std::string> axes;  ///< Keys of the scenario.
  std::vector<Point> points;
};

/// Reads a sweep and loads the scenario of every point, on all processors. Throws ConfigError with
/// every mistake found: those of the sweep at their line, those of a value at its line in the
/// sweep, with the first point that has it. Throws Interrupted (sim/kernel/simulation.hpp) soon
/// after a stop is requested.
[[nodiscard]] Sweep load_sweep(const std::string& path, const std::stop_token& stop = {});

/// The same from text; the base is relative to the folder of `file`.
[[nodiscard]] Sweep parse_sweep(const std::string& file, std::string_view text,
                                const std::stop_token& stop = {});

/// The keys of a sweep, as `tokenline describe sweep` shows them.
[[nodiscard]] std::vector<config::KeyInfo> sweep_keys();

/// "engine.max_num_seqs=64, seed 1": which point, in messages.
[[nodiscard]] std::string label(const Sweep& sweep, const Point& point);

/// The figures of one scope: "all", a class, "instances", "pools.<pool>", "transfers", "fleet".
struct ScopeFigures {
  std::string scope;
  report::Figures figures;
};

/// What a point came to. A pure function of the point and the files that it names.
struct PointResult {
  std::string sha256;  ///< Point::sha256 of what was simulated.
  std::string scenario;
  std::uint64_t seed = 0;
  std::string config_sha256;
  double simulated_s = 0.0;
  std::vector<std::pair<std::string, bool>> asserts;  ///< Conditions, and whether they hold.
  std::vector<ScopeFigures> figures;  ///< Those of summary.json, but for single replicas.
};

/// Simulates a point. Throws ConfigError where its scenario is wrong, InternalError where the run
/// fails its audit, Interrupted soon after a stop is requested.
[[nodiscard]] PointResult run_point(const Point& point, const std::stop_token& stop = {});

/// A result as JSON: one object, doubles in their shortest exact form, empty as null.
[[nodiscard]] std::string result_json(const PointResult& result);

/// The same back. Empty where the text is not a whole result of this version of Tokenline.
[[nodiscard]] std::optional<PointResult> parse_result(std::string_view json);

}  // namespace tokenline::sweep
