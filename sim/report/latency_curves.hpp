#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/engine/run.hpp"

namespace tokenline::report {

/// One point of a distribution: `slower` of its samples took at least so long.
struct CurvePoint {
  double ms = 0.0;
  std::int64_t slower = 0;
};

/// The distribution of one latency, from the smallest sample to the largest. Each point leaves out
/// a sixteenth of the samples from the last one on (at least one), so that the curve is as fine
/// around P99.9 as around the median.
struct LatencyCurve {
  std::int64_t samples = 0;
  std::vector<CurvePoint> points;
};

/// The latencies of the measured, completed requests of one class, or of all.
struct ClassCurves {
  std::string name;
  LatencyCurve ttft;
  LatencyCurve tpot;
  LatencyCurve itl;  ///< From the histogram: within 0.4 %; of 10,000 quantiles at most.
  LatencyCurve e2el;
};

/// "all" first, then every class in the order of the run; of a single class that class alone.
[[nodiscard]] std::vector<ClassCurves> latency_curves(const RunResult& run);

/// The curve of these samples, in milliseconds, which are sorted.
[[nodiscard]] LatencyCurve curve(std::vector<double> samples);

}  // namespace tokenline::report
