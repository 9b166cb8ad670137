#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/report/why/blame.hpp"

namespace tokenline::report {

/// What is explained; the names are those of the metrics.
enum class Latency : std::uint8_t { ttft, tpot, itl, e2el };

/// A latency, or as many equal ones: a stretch of a request's life, or of the steps that several
/// decode in.
struct Sample {
  Duration value{};         ///< Its length; for tpot of all tokens but the first.
  std::int64_t tokens = 1;  ///< It is divided by, for tpot.
  std::int64_t weight = 1;
  TimePoint from{};
  TimePoint to{};
  /// The request; empty for gaps that sequences have in common.
  std::optional<std::uint32_t> request;
  Span steps;  ///< Of those, where they decode.
};

/// Samples in ascending order; equal ones as their requests arrived.
class Samples {
 public:
  /// Of the completed, measured requests of a class, or of all without one. ITL: the gaps of the
  /// attempt that completed. TPOT: of requests with more than one token.
  Samples(const Evidence& evidence, Latency latency, std::optional<std::uint32_t> class_index);

  [[nodiscard]] std::int64_t count() const { return count_; }
  /// The one at rank ⌈percent · count ÷ 100⌉, counted from 1. There must be one.
  [[nodiscard]] const Sample& at_percent(std::int64_t percent) const;
  /// All from that value on, the equal ones included.
  [[nodiscard]] std::vector<Sample> from_percent(std::int64_t percent) const;
  /// Those from one such rank to another, both included.
  [[nodiscard]] std::vector<Sample> between_percent(std::int64_t low, std::int64_t high) const;

 private:
  void add_request(const Evidence& evidence, Latency latency, std::uint32_t request);
  [[nodiscard]] std::size_t index_at(std::int64_t rank) const;
  [[nodiscard]] std::int64_t rank(std::int64_t percent) const {
    return (percent * count_ + 99) / 100;
  }

  std::vector<Sample> samples_;
  std::vector<std::int64_t> ranks_;  ///< Of the last of each sample.
  std::int64_t count_ = 0;
};

/// Whether one latency is less than another; per token for tpot.
[[nodiscard]] bool shorter(const Sample& a, const Sample& b);

}  // namespace tokenline::report
