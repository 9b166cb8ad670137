#include "calib/microbench/timing.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/base/check.hpp"

namespace tokenline::calib::microbench {
namespace {

struct Quartiles {
  Seconds low;
  Seconds median;
  Seconds high;
};

Seconds quantile(std::span<const Seconds> sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - std::floor(place)) * (sorted[above] - sorted[below]);
}

Quartiles quartiles(std::span<const Seconds> timings) {
  std::vector<Seconds> sorted(timings.begin(), timings.end());
  std::ranges::sort(sorted);
  return {quantile(sorted, 0.25), quantile(sorted, 0.5), quantile(sorted, 0.75)};
}

}  // namespace

Timing timing(std::span<const Seconds> timings) {
  TOKENLINE_CHECK(!timings.empty(), "a median of nothing");
  TOKENLINE_CHECK(std::ranges::min(timings) > Seconds{}, "a call that took no time");
  constexpr std::size_t fewest = 9;
  const Quartiles all = quartiles(timings);
  Timing result{.median = all.median, .low = all.low, .high = all.high};
  if (timings.size() < fewest) return result;
  const std::size_t third = timings.size() / 3;
  const Quartiles first = quartiles(timings.first(third));
  const Quartiles last = quartiles(timings.last(third));
  result.drift = last.median / first.median - 1.0;
  result.drifted = last.low > first.high || last.high < first.low;
  return result;
}

}  // namespace tokenline::calib::microbench
