#include "sim/stats/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "sim/base/check.hpp"

namespace tokenline::stats {
namespace {

/// Bits kept below the leading one: 2^7 buckets for each power of two.
constexpr int mantissa_bits = 7;
constexpr std::uint64_t buckets_per_octave = std::uint64_t{1} << mantissa_bits;

/// Values below 2^8 are their own bucket; above, the top eight bits choose one of 128 buckets.
std::size_t bucket_of(std::uint64_t value) {
  const int shift = std::max(0, static_cast<int>(std::bit_width(value)) - mantissa_bits - 1);
  return static_cast<std::uint64_t>(shift) * buckets_per_octave + (value >> shift);
}

/// The middle of the whole numbers of a bucket.
double middle_of(std::size_t bucket) {
  if (bucket < 2 * buckets_per_octave) return static_cast<double>(bucket);
  const auto shift = static_cast<int>(bucket / buckets_per_octave) - 1;
  const auto lowest = static_cast<double>(bucket % buckets_per_octave + buckets_per_octave);
  return std::ldexp(lowest, shift) + 0.5 * (std::ldexp(1.0, shift) - 1.0);
}

}  // namespace

void Histogram::add(Duration value, std::int64_t weight) {
  const std::int64_t nanoseconds = value.count();
  TOKENLINE_CHECK(nanoseconds >= 0 && weight >= 0, "{} ns with weight {} in a histogram",
                  nanoseconds, weight);
  if (weight == 0) return;
  const std::size_t bucket = bucket_of(static_cast<std::uint64_t>(nanoseconds));
  if (bucket >= weights_.size()) [[unlikely]]
    weights_.resize(bucket + 1);
  weights_[bucket] += weight;
  count_ += weight;
  const Int128 first_moment = Int128{nanoseconds} * weight;
  Int128 second_moment{};
  const bool overflow = __builtin_mul_overflow(first_moment, Int128{nanoseconds}, &second_moment) ||
                        __builtin_add_overflow(sum_of_squares_, second_moment, &sum_of_squares_);
  TOKENLINE_CHECK(!overflow, "{} ns with weight {} overflows a histogram", nanoseconds, weight);
  sum_ += first_moment;
  max_ = std::max(max_, nanoseconds);
}

void Histogram::merge(const Histogram& other) {
  if (weights_.size() < other.weights_.size()) weights_.resize(other.weights_.size());
  for (std::size_t i = 0; i < other.weights_.size(); ++i) weights_[i] += other.weights_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  TOKENLINE_CHECK(!__builtin_add_overflow(sum_of_squares_, other.sum_of_squares_, &sum_of_squares_),
                  "merging histograms of {} and {} samples overflows", count_ - other.count_,
                  other.count_);
  max_ = std::max(max_, other.max_);
}

std::optional<Seconds> Histogram::mean() const {
  if (count_ == 0) return std::nullopt;
  return Seconds(static_cast<double>(sum_) / static_cast<double>(count_) * 1e-9);
}

std::optional<Seconds> Histogram::standard_deviation() const {
  if (count_ == 0) return std::nullopt;
  // sum = q·n + r, so sum²/n = q²·n + 2·q·r + r²/n: whole numbers where the two sums nearly cancel.
  // None passes sum_of_squares_, which is at least sum²/n.
  const Int128 quotient = sum_ / count_;
  const Int128 remainder = sum_ % count_;
  const Int128 whole = sum_of_squares_ - quotient * quotient * count_ - 2 * quotient * remainder;
  const auto n = static_cast<double>(count_);
  const auto rest = static_cast<double>(remainder);
  const double scatter = static_cast<double>(whole) - rest * (rest / n);
  return Seconds(std::sqrt(std::max(0.0, scatter) / n) * 1e-9);
}

std::optional<Seconds> Histogram::quantile(double q) const {
  TOKENLINE_CHECK(q >= 0.0 && q <= 1.0, "quantile {}", q);
  if (count_ == 0) return std::nullopt;
  const double wanted = std::max(1.0, std::ceil(q * static_cast<double>(count_)));
  std::int64_t below = 0;
  std::size_t bucket = 0;
  for (; bucket + 1 < weights_.size(); ++bucket) {
    below += weights_[bucket];
    if (static_cast<double>(below) >= wanted) break;
  }
  // The last bucket may be wider than what is in it.
  return Seconds(std::min(middle_of(bucket), static_cast<double>(max_)) * 1e-9);
}

std::optional<Duration> Histogram::max() const {
  if (count_ == 0) return std::nullopt;
  return Duration(max_);
}

}  // namespace tokenline::stats
