#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/engine/audit.hpp"
#include "sim/engine/instance_stats.hpp"
#include "sim/engine/request_log.hpp"
#include "sim/engine/scenario.hpp"

namespace tokenline {

/// One replica after a run.
struct InstanceResult {
  std::string name;           ///< "replica-0"
  InstanceStats whole;        ///< From the start to the end.
  InstanceStats measured;     ///< Inside the measure window (the whole run without one).
  TimePoint measured_from{};  ///< Where `measured` begins; it ends at measured.as_of.
  std::int64_t kv_blocks = 0;
};

/// Everything a run produced. A pure function of the scenario.
struct RunResult {
  RequestLog log;
  std::vector<traffic::RequestClass> classes;
  std::vector<InstanceResult> instances;
  TimePoint end{};  ///< When the last event happened.
  std::uint64_t events = 0;
  std::uint64_t fingerprint = 0;  ///< Of the order of all events.
  AuditReport audit;
};

/// Simulates until every request has ended. The scenario's traffic is used up.
[[nodiscard]] RunResult run(Scenario& scenario);

}  // namespace tokenline
