#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/time.hpp"
#include "sim/stats/histogram.hpp"

namespace tokenline {

/// Inter-token latencies of one instance, one histogram insertion per step and class: sequences
/// whose last tokens left at the same instant are counted together.
class TokenGaps {
 public:
  explicit TokenGaps(std::size_t classes) : base_(classes) {}

  /// A sequence of `class_index`, not in the decode batch so far, emitted a token at `when`; more
  /// will follow.
  void started(TimePoint when, std::uint32_t class_index);
  /// A sequence whose last token left at `when` or with the last decode step emits no more here.
  /// `decoded`: whether it took part in a decode step since started().
  void stopped(TimePoint when, std::uint32_t class_index, bool decoded);
  /// Every counted sequence emits a token at `now`; the gaps go to `histograms`, one per class.
  void decoded(TimePoint now, std::vector<stats::Histogram>& histograms);

 private:
  struct Group {
    TimePoint when{};
    std::uint32_t class_index = 0;
    std::int64_t count = 0;
  };

  TimePoint base_time_{};
  std::int64_t base_total_ = 0;
  std::vector<std::int64_t> base_;  ///< By class: last token at base_time_.
  std::vector<Group> fresh_;        ///< Started at other times since the last decode step.
};

}  // namespace tokenline
