#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/sweep/sweep.hpp"

namespace tokenline::sweep {

/// A sweep with the results of its points, wherever they were found.
struct Merged {
  Sweep sweep;                                      ///< As in the manifest.
  std::vector<std::optional<PointResult>> results;  ///< By point.

  /// The points without a result.
  [[nodiscard]] std::vector<std::size_t> missing() const;
};

/// Gathers the results of folders. Throws ConfigError where one has no manifest or is of another
/// sweep than the first, and where two hold different results of one point.
[[nodiscard]] Merged merge(std::span<const std::string> directories);

/// "3 of 8 points have no result:" and the first twenty of them.
[[nodiscard]] std::string missing_text(const Merged& merged);

/// One row per point with a result, in the order of the sweep: `point`, the axes (quantities in
/// base units, which end the column's name), `seed`, `asserts_failed`, `simulated_s`, every figure
/// of every scope as `<scope>.<metric>`, `config_sha256`, `point_sha256`. The same bytes from any
/// shards and threads.
[[nodiscard]] std::string results_csv(const Merged& merged);

/// The same as an SQLite database: tables `sweep`, `points`, and `classes`, `instances`, `pools`,
/// `transfers`, `fleet` with the figures of those that there are, by point. An earlier file is
/// replaced once the new one is whole. Throws OutputError.
void write_sqlite(const Merged& merged, const std::string& path);

}  // namespace tokenline::sweep
