#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/report/why/samples.hpp"

namespace tokenline::report {

/// Collects the gaps between the tokens of requests. Sequences that decode together have theirs in
/// common: a request costs O(log steps), not O(tokens).
class Gaps {
 public:
  /// It must outlive the object.
  explicit Gaps(const Evidence& evidence) : evidence_(evidence) {}

  /// Those of a completed request, in the attempt that completed.
  void add(std::uint32_t request);
  [[nodiscard]] std::vector<Sample> samples();

 private:
  using Batch = std::pair<std::uint32_t, std::uint32_t>;  ///< Instance and micro-batch.

  /// Of the steps of a micro-batch.
  struct Steps {
    std::vector<std::uint32_t> decodes;  ///< Places of those that decode.
    std::vector<std::int64_t> changes;   ///< How many more have the gap that ends with each.
  };
  [[nodiscard]] Steps& steps_of(const Batch& batch);
  [[nodiscard]] const LoggedStep& step(const Batch& batch, std::uint32_t place) const;
  void emit(std::uint32_t request, TimePoint when);
  void decode(std::uint32_t request, const Span& span);

  const Evidence& evidence_;
  std::map<Batch, Steps> steps_;
  std::vector<Sample> own_;   ///< Gaps that only one request has.
  std::int64_t at_once_ = 0;  ///< Tokens that left together with the one before.
  TimePoint last_token_{};    ///< Of the request that is being added,
  std::int64_t counted_ = 0;  ///< and its tokens so far, without accepted drafts.
};

}  // namespace tokenline::report
