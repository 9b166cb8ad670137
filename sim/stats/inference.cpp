#include "sim/stats/inference.hpp"

#include <algorithm>
#include <boost/random/uniform_int_distribution.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/base/random.hpp"

namespace tokenline::stats {
namespace {

constexpr std::size_t resamples = 1999;  ///< (1 + resamples) · 0.025 is whole.

struct MeanError {
  double mean = 0.0;
  double standard_error = 0.0;
};

MeanError mean_error(std::span<const double> samples) {
  const auto n = static_cast<double>(samples.size());
  double sum = 0.0;
  for (const double sample : samples) sum += sample;
  const double mean = sum / n;
  double squares = 0.0;
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  return {mean, std::sqrt(squares / (n - 1.0) / n)};
}

/// How many standard errors of its own a resample's mean is off the samples' mean.
double studentised(const MeanError& resample, double mean) {
  const double off = resample.mean - mean;
  if (resample.standard_error > 0.0) return off / resample.standard_error;
  if (off == 0.0) return 0.0;
  return std::copysign(std::numeric_limits<double>::infinity(), off);
}

std::vector<double> studentised_resamples(std::span<const double> samples, double mean,
                                          std::uint64_t seed) {
  RandomStream stream(seed, "bootstrap", samples.size());
  boost::random::uniform_int_distribution<std::size_t> pick(0, samples.size() - 1);
  std::vector<double> drawn(samples.size());
  std::vector<double> off;
  for (std::size_t i = 0; i < resamples; ++i) {
    for (double& value : drawn) value = samples[pick(stream)];
    off.push_back(studentised(mean_error(drawn), mean));
  }
  std::ranges::sort(off);
  return off;
}

}  // namespace

Interval bootstrap_mean(std::span<const double> samples, double confidence, std::uint64_t seed) {
  TOKENLINE_CHECK(samples.size() >= 2, "an interval of {} samples", samples.size());
  TOKENLINE_CHECK(confidence > 0.0 && confidence < 1.0, "confidence {}", confidence);
  const MeanError all = mean_error(samples);
  if (std::ranges::all_of(samples, [&](double sample) { return sample == samples.front(); }))
    return {samples.front(), samples.front(), samples.front()};
  const std::vector<double> off = studentised_resamples(samples, all.mean, seed);
  const auto tail =
      static_cast<std::size_t>(std::floor(0.5 * (1.0 - confidence) * (resamples + 1)));
  const std::size_t least = std::max<std::size_t>(tail, 1) - 1;
  return {all.mean - off[resamples - 1 - least] * all.standard_error, all.mean,
          all.mean - off[least] * all.standard_error};
}

std::optional<std::size_t> mser5(std::span<const double> observations) {
  constexpr std::size_t batch = 5;
  constexpr std::size_t fewest = 10;  // Batches.
  const std::size_t n = observations.size() / batch;
  if (n < fewest) return std::nullopt;
  std::vector<double> means(n, 0.0);
  for (std::size_t i = 0; i < n * batch; ++i) means[i / batch] += observations[i] / batch;
  // From the end, as each further batch is kept: Welford's update.
  double mean = 0.0;
  double squares = 0.0;
  double best = std::numeric_limits<double>::infinity();
  std::size_t cut = 0;
  for (std::size_t kept = 1; kept <= n; ++kept) {
    const double step = means[n - kept] - mean;
    mean += step / static_cast<double>(kept);
    squares += step * (means[n - kept] - mean);
    const double error = squares / static_cast<double>(kept) / static_cast<double>(kept);
    // The last few batches alone say little: White excludes them.
    if (kept > batch && error <= best) {
      best = error;
      cut = n - kept;
    }
  }
  if (cut > n / 2) return std::nullopt;
  return cut * batch;
}

}  // namespace tokenline::stats
