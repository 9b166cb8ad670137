#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/engine/run.hpp"
#include "sim/report/class_summary.hpp"

namespace tokenline::report {

/// An observed figure and what the replay makes of it.
struct FidelityFigure {
  std::string metric;  ///< "chat.p99_ttft_ms", "queue.mean_waiting".
  std::optional<double> observed;
  std::optional<double> replayed;
  bool gated = false;  ///< Whether the tolerance is about it: a P99 that was observed.
  bool within = true;  ///< Of the tolerance, where it is.

  /// (replayed − observed) ÷ observed; empty without a value, and where 0 was observed.
  [[nodiscard]] std::optional<double> error() const;
};

/// How near the replay of an observed scenario is.
struct Fidelity {
  double tolerance = 0.0;
  /// Looks at an idle server after the replay's end: they say nothing, and are left out.
  std::int64_t idle_after_end = 0;
  std::vector<FidelityFigure> figures;

  /// Every gated figure is within the tolerance, and there is one.
  [[nodiscard]] bool passed() const;
};

/// Holds a run of a scenario with `observed:` against it: of each class that was observed, and of
/// all, mean, median, P90 and P99 of TTFT, TPOT and E2E where they were, over requests that arrive
/// inside `measure:`; of a server's queue the mean of running and waiting requests and the P99 of
/// both together, at the same instants (the probes of the run), but for those after its end at
/// which the server was idle too. Nothing without `observed:`.
[[nodiscard]] std::optional<Fidelity> fidelity(const Scenario& scenario, const RunResult& run,
                                               std::span<const ClassSummary> classes);

/// A JSON object of it.
[[nodiscard]] std::string fidelity_json(const Fidelity& fidelity);

/// A table of it, and the verdict.
[[nodiscard]] std::string fidelity_text(const Fidelity& fidelity);

}  // namespace tokenline::report
