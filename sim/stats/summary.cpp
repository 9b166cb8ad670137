#include "sim/stats/summary.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "sim/base/check.hpp"

namespace tokenline::stats {
namespace {

/// The q-th percentile where no sample before `first` exceeds one after; the same then holds of the
/// rank it leaves in `first`.
double percentile_from(std::vector<double>& samples, double q, std::ptrdiff_t& first) {
  const double rank = q * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<std::ptrdiff_t>(rank);
  const auto at = samples.begin() + below;
  std::nth_element(samples.begin() + first, at, samples.end());
  first = below;
  if (at + 1 == samples.end()) return *at;
  const double low = *at;
  const double high = *std::min_element(at + 1, samples.end());
  const double fraction = rank - static_cast<double>(below);
  // numpy's two-sided form: exact at both ends and monotone in the fraction.
  if (fraction >= 0.5) return high - (high - low) * (1.0 - fraction);
  return low + (high - low) * fraction;
}

}  // namespace

double percentile(std::vector<double>& samples, double q) {
  TOKENLINE_CHECK(!samples.empty() && q >= 0.0 && q <= 1.0, "percentile {} of {} samples", q,
                  samples.size());
  std::ptrdiff_t first = 0;
  return percentile_from(samples, q, first);
}

Distribution summarize(std::vector<double>& samples) {
  if (samples.empty()) return {};
  const auto n = static_cast<double>(samples.size());
  double sum = 0.0;
  for (const double sample : samples) sum += sample;
  const double mean = sum / n;
  TOKENLINE_CHECK(!std::isnan(mean), "a sample of a metric is not a number");
  double scatter = 0.0;
  for (const double sample : samples) scatter += (sample - mean) * (sample - mean);
  Distribution result;
  result.mean = mean;
  result.std = std::sqrt(scatter / n);
  std::ptrdiff_t first = 0;
  result.median = percentile_from(samples, 0.50, first);
  result.p90 = percentile_from(samples, 0.90, first);
  result.p95 = percentile_from(samples, 0.95, first);
  result.p99 = percentile_from(samples, 0.99, first);
  return result;
}

}  // namespace tokenline::stats
