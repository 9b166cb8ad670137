#include "workloads/traffic/arrival_times.hpp"

#include <algorithm>

namespace tokenline::traffic {

double expected(const ArrivalRate& rate, Seconds t) {
  return std::visit([&](const auto& any) { return any.expected(t); }, rate);
}

std::optional<TimePoint> ArrivalTimes::next() {
  const double events = renewal_.next();
  const auto time = std::visit([&](const auto& any) { return any.time_of(events); }, rate_);
  constexpr double clock_end = 9.2e9;  // Seconds; int64 nanoseconds hold 9.223e9.
  if (!time || time->value() >= clock_end) return std::nullopt;
  // Why max: the inverse of a rate may fall by its last bit where a piece begins.
  last_ = std::max(last_, TimePoint(to_duration(*time)));
  if (last_ >= stop_) return std::nullopt;
  return last_;
}

}  // namespace tokenline::traffic
