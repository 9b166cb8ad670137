#pragma once

#include <optional>
#include <vector>

#include "sim/config/reader.hpp"
#include "workloads/traffic/observed.hpp"
#include "workloads/traffic/source.hpp"

namespace tokenline {

/// What was measured where a scenario's traffic was served.
struct ObservedRun {
  traffic::Observed data;
  /// Relative: how far the P99 of a replay may be from an observed one.
  double tolerance = 0.0;
};

/// Reads the `observed:` section, if there is one. Its classes are those of the traffic.
[[nodiscard]] std::optional<ObservedRun> read_observed_run(config::Reader& root,
                                                           const traffic::Traffic& traffic);

/// When a queue was looked at, ascending: the probes of a run that is held against it.
[[nodiscard]] std::vector<TimePoint> probes(const std::optional<ObservedRun>& observed);

}  // namespace tokenline
