#pragma once

#include <optional>
#include <vector>

namespace tokenline::stats {

/// The figures `vllm bench serve` prints of a metric; empty when there was no sample.
struct Distribution {
  std::optional<double> mean;
  std::optional<double> median;
  std::optional<double> std;
  std::optional<double> p90;
  std::optional<double> p95;
  std::optional<double> p99;
};

/// Exact figures of `samples` (any unit), which is reordered. Percentiles interpolate linearly
/// between order statistics, as numpy.percentile does; std is numpy.std's population deviation.
/// Throws InternalError when a sample is NaN: an undefined metric is left out, never summarised.
[[nodiscard]] Distribution summarize(std::vector<double>& samples);

/// numpy.percentile's default: linear interpolation at rank q · (n − 1), q in [0, 1], in O(n);
/// reorders `samples`. Throws InternalError when it is empty or q is out of range.
[[nodiscard]] double percentile(std::vector<double>& samples, double q);

}  // namespace tokenline::stats
