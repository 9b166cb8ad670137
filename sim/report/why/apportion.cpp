#include "sim/report/why/apportion.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "sim/base/check.hpp"

namespace tokenline::report {

using stats::Int128;

void round_fractions(std::span<const Int128> numerators, Int128 denominator,
                     std::span<Duration> rounded) {
  std::vector<Int128> remainders(numerators.size());
  Int128 left = 0;
  for (std::size_t i = 0; i < numerators.size(); ++i) {
    Int128 whole = numerators[i] / denominator;
    remainders[i] = numerators[i] % denominator;
    if (remainders[i] < 0) {
      --whole;
      remainders[i] += denominator;
    }
    rounded[i] = Duration(static_cast<std::int64_t>(whole));
    left += remainders[i];
  }
  std::vector<std::size_t> order(numerators.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t i) { return remainders[i]; });
  const auto more = static_cast<std::size_t>(left / denominator);
  for (std::size_t i = 0; i < more; ++i) rounded[order[i]] += Duration(1);
}

void apportion(Duration total, std::span<const Duration> weights, std::span<Duration> shares) {
  Int128 sum = 0;
  for (const Duration weight : weights) sum += weight.count();
  if (sum == total.count()) {
    std::ranges::copy(weights, shares.begin());
    return;
  }
  TOKENLINE_CHECK(sum > 0 || total == Duration{}, "{} ns without anything to share them among",
                  total.count());
  if (sum == 0) {
    std::ranges::fill(shares, Duration{});
    return;
  }
  std::vector<Int128> numerators;
  numerators.reserve(weights.size());
  for (const Duration weight : weights)
    numerators.push_back(static_cast<Int128>(total.count()) * weight.count());
  round_fractions(numerators, sum, shares);
}

}  // namespace tokenline::report
