#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "sim/base/time.hpp"
#include "workloads/traffic/diurnal_rate.hpp"
#include "workloads/traffic/rate_profile.hpp"
#include "workloads/traffic/renewal.hpp"

namespace tokenline::traffic {

/// How often something arrives.
using ArrivalRate = std::variant<RateProfile, DiurnalRate>;

/// Λ(t) of a rate: the events expected from its start to t.
[[nodiscard]] double expected(const ArrivalRate& rate, Seconds t);

/// The times of a renewal process run through a rate, in order: event n comes when Λ reaches the
/// sum of the first n gaps of mean 1. The first is one gap after the start. Ends at `stop`, or
/// where the rate is zero for ever (or so low that the clock's 292 years pass first).
class ArrivalTimes {
 public:
  ArrivalTimes(Renewal renewal, ArrivalRate rate, TimePoint stop)
      : renewal_(renewal), rate_(std::move(rate)), stop_(stop) {}

  [[nodiscard]] std::optional<TimePoint> next();

 private:
  Renewal renewal_;
  ArrivalRate rate_;
  TimePoint stop_;
  TimePoint last_{};
};

}  // namespace tokenline::traffic
