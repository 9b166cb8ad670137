#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "sim/engine/audit.hpp"
#include "sim/engine/instance_stats.hpp"
#include "sim/engine/request_log.hpp"
#include "sim/engine/run_observer.hpp"
#include "sim/engine/scenario.hpp"
#include "sim/engine/transfer_counts.hpp"

namespace tokenline {

/// One replica after a run.
struct InstanceResult {
  std::string name;           ///< "replica-0"; in a pool "prefill-0".
  std::string pool;           ///< Its pool's name; "replica" without pools.
  InstanceStats whole;        ///< From the start to the end.
  InstanceStats measured;     ///< Inside the measure window (the whole run without one).
  TimePoint measured_from{};  ///< Where `measured` begins; it ends at measured.as_of.
  std::int64_t kv_blocks = 0;
  std::int64_t swap_blocks = 0;   ///< In host memory; 0 without preemption_mode: swap.
  std::vector<TierPlan> tiers{};  ///< Of kv_offload.
  bool prefix_cache = false;      ///< Requests may begin alike, and it has a cache for that.
};

/// How many requests the replicas held at an instant: those of the step under way are running.
struct QueueDepth {
  TimePoint when{};
  std::int64_t running = 0;
  std::int64_t waiting = 0;  ///< Preempted ones included.
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
  std::vector<FaultResult> faults;          ///< In the order of the scenario.
  std::optional<FleetResult> fleet;         ///< With cluster.autoscale.
  std::optional<TransferCounts> transfers;  ///< Where pools hand over KV.
  std::vector<QueueDepth> depths;           ///< One per probe, in their order.
};

/// Simulates until every request has ended. The scenario's traffic is used up. The queues are
/// looked at at each of `probes` (ascending), after everything else of that instant; looking
/// changes nothing but `events` and `fingerprint`. An `observer` is told of every step and of what
/// becomes of every request. Throws Interrupted (simulation.hpp) soon after a stop is requested.
[[nodiscard]] RunResult run(Scenario& scenario, std::span<const TimePoint> probes = {},
                            RunObserver* observer = nullptr, std::stop_token stop = {});

}  // namespace tokenline
