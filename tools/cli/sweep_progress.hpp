#pragma once

#include <chrono>

#include "tools/sweep/runner.hpp"

namespace tokenline::cli {

/// How far a sweep is and when it will be done, on standard error: one line that is written over on
/// a terminal, a line every ten seconds elsewhere.
class SweepProgress {
 public:
  explicit SweepProgress(bool terminal) : terminal_(terminal) {}

  void show(const sweep::RunProgress& progress);
  /// Ends the line of a terminal.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  bool terminal_;
  bool shown_ = false;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point next_ = begin_;
};

/// "120 of 200 points, 3 failed; 1 min 5 s left", with the points simulated in `elapsed`.
[[nodiscard]] std::string progress_line(const sweep::RunProgress& progress,
                                        std::chrono::duration<double> elapsed);

}  // namespace tokenline::cli
