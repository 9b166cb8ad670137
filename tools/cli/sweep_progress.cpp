#include "tools/cli/sweep_progress.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <string>

namespace tokenline::cli {
namespace {

std::string time_left(double seconds) {
  const auto s = static_cast<long long>(std::ceil(seconds));
  if (s >= 3600) return fmt::format("{} h {} min", s / 3600, s % 3600 / 60);
  if (s >= 60) return fmt::format("{} min {} s", s / 60, s % 60);
  return fmt::format("{} s", s);
}

}  // namespace

std::string progress_line(const sweep::RunProgress& progress,
                          std::chrono::duration<double> elapsed) {
  const std::size_t done = progress.found + progress.simulated + progress.failed;
  std::string line = fmt::format("{} of {} points", done, progress.points);
  if (progress.failed > 0) line += fmt::format(", {} failed", progress.failed);
  // Points that were there already took no time.
  const std::size_t timed = progress.simulated + progress.failed;
  if (timed > 0 && done < progress.points)
    line += fmt::format("; {} left", time_left(elapsed.count() / static_cast<double>(timed) *
                                               static_cast<double>(progress.points - done)));
  return line;
}

void SweepProgress::show(const sweep::RunProgress& progress) {
  const Clock::time_point now = Clock::now();
  const bool last = progress.found + progress.simulated + progress.failed == progress.points;
  if (now < next_ && !last) return;
  next_ = now + (terminal_ ? std::chrono::milliseconds(100) : std::chrono::seconds(10));
  const std::string line = progress_line(progress, now - begin_);
  std::fprintf(stderr, terminal_ ? "\r%s\x1b[K" : "%s\n", line.c_str());
  shown_ = true;
}

void SweepProgress::finish() {
  if (shown_ && terminal_) std::fputc('\n', stderr);
}

}  // namespace tokenline::cli
