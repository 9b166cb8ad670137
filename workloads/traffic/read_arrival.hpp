#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "sim/config/reader.hpp"
#include "workloads/traffic/arrival_times.hpp"

namespace tokenline::traffic {

/// Scenario times end at 30 years, far inside the clock's 292.
inline constexpr config::Range<double> scenario_times{0.0, 1e9};

/// The `arrival:` section as far as it does not depend on the class.
struct ArrivalPlan {
  bool closed_loop = false;
  std::int64_t max_concurrency = 1;
  Duration think_time{};
  Process process = Process::poisson;
  double burstiness = 1.0;
  std::variant<PerSecond, std::vector<RatePoint>, DiurnalShape> rate = PerSecond(1.0);
};

/// Reads it. Mistakes go to the document.
[[nodiscard]] ArrivalPlan read_arrival(config::Reader& arrival);

/// The rate of an open arrival process that begins at `from`. Only of a plan without mistakes.
[[nodiscard]] ArrivalRate rate_of(const ArrivalPlan& plan, TimePoint from);

}  // namespace tokenline::traffic
