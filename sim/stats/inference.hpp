#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tokenline::stats {

/// A confidence interval and the estimate inside it.
struct Interval {
  double low = 0.0;
  double estimate = 0.0;
  double high = 0.0;

  [[nodiscard]] double half_width() const { return 0.5 * (high - low); }
};

/// The mean of independent samples with a studentised bootstrap interval ("bootstrap-t": Efron and
/// Tibshirani, An Introduction to the Bootstrap, 1993, chapter 12.5; its coverage errs by O(1/n),
/// Hall 1988, where the percentile bootstrap of few samples is too narrow by √(1 − 1/n) and more).
/// Resamples without any spread are as far out as their sign says. Samples that are all equal have
/// an interval without width. `seed` is that of the resamples: the same samples give the same
/// interval. Needs at least two samples; confidence lies in (0, 1). Throws InternalError otherwise.
[[nodiscard]] Interval bootstrap_mean(std::span<const double> samples, double confidence,
                                      std::uint64_t seed);

/// How many observations at the start belong to the warm-up: MSER-5 (White, Simulation 69, 1997;
/// Franklin and White, WSC 2008). Of the means of five consecutive observations those after d are
/// kept for the d that makes Σ(mean − their mean)² / (kept)² smallest. Empty when that d is in the
/// second half, so that there is no steady state to see, or with fewer than 50 observations.
[[nodiscard]] std::optional<std::size_t> mser5(std::span<const double> observations);

}  // namespace tokenline::stats
