#pragma once

#include <span>

#include "sim/base/time.hpp"
#include "sim/stats/int128.hpp"

namespace tokenline::report {

/// Divides `total` in proportion to `weights` into `shares`, as many, that sum to it exactly: each
/// rounded down, then a nanosecond more for the largest remainders, the first of equals first. The
/// weights must not be negative, and not all zero unless `total` is.
void apportion(Duration total, std::span<const Duration> weights, std::span<Duration> shares);

/// The fractions numerators[i] ÷ denominator, rounded to integers that sum to the floor of their
/// sum: each rounded down, then one more for the largest remainders.
void round_fractions(std::span<const stats::Int128> numerators, stats::Int128 denominator,
                     std::span<Duration> rounded);

}  // namespace tokenline::report
