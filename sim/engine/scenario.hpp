#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hwmodels/network/network.hpp"
#include "hwmodels/replica_cost.hpp"
#include "sim/config/reader.hpp"
#include "sim/engine/autoscale_config.hpp"
#include "sim/engine/engine_config.hpp"
#include "sim/engine/faults.hpp"
#include "sim/engine/host_plan.hpp"
#include "sim/engine/memory_plan.hpp"
#include "sim/engine/observed_run.hpp"
#include "sim/engine/pools.hpp"
#include "sim/engine/price_changes.hpp"
#include "sim/engine/speculation.hpp"
#include "workloads/models/operators.hpp"
#include "workloads/traffic/source.hpp"

namespace tokenline {

/// The replicas and what happens to them.
struct ClusterConfig {
  std::int64_t replicas = 1;
  std::string router;
  std::string admission;
  AdmissionSetup admission_setup;
  models::Parallelism parallelism;             ///< Of each replica.
  std::shared_ptr<const hw::Network> network;  ///< Null where none is named.
  /// The GPUs of each replica, by rank (stage, attention group, context rank, tensor rank); empty
  /// without a network.
  std::vector<std::vector<hw::Vertex>> gpus;
  Duration restart_delay{};
  bool retry_after_oom = true;
  std::int64_t max_retries = 0;
  std::optional<AutoscaleConfig> autoscale;
};

/// The requests that metrics are about: those that arrive in [from, to).
struct MeasureWindow {
  TimePoint from{};
  std::optional<TimePoint> to;
};

/// Everything a run depends on, read, checked and built.
struct Scenario {
  std::string name;
  std::string description;
  std::string file;
  std::uint64_t seed = 0;
  double error_band = 0.0;  ///< ScenarioOptions::error_band.
  ClusterConfig cluster;
  /// In the order in which they are placed on nodes; empty where all replicas are alike. With pools
  /// `cluster.parallelism`, `engine`, `cost` and memory are those of the first.
  std::vector<Pool> pools;
  Disaggregation disaggregation;
  EngineConfig engine;
  std::shared_ptr<const hw::ReplicaCost> cost;
  std::vector<MemoryPlan> stage_memory;  ///< Of each stage of the pipeline.
  MemoryPlan memory;                     ///< Of the fullest one.
  HostPlan host;
  /// Of a new replica, loading its weights included.
  [[nodiscard]] Duration provisioning() const;
  std::optional<SpeculationConfig> speculation;
  traffic::Traffic traffic;
  std::vector<Fault> faults;
  /// Of each replica, by time, where links have brown-outs; otherwise empty.
  std::vector<std::vector<PriceChange>> price_changes;
  std::optional<MeasureWindow> measure;
  std::optional<ObservedRun> observed;
  std::vector<std::string> asserts;  ///< "chat.p99_ttft_ms < 500", checked by sim/report.
  config::Node resolved;             ///< Every key with the value in force.
};

/// What a run gives besides the scenario file.
struct ScenarioOptions {
  std::vector<std::string> overrides;  ///< "engine.block_size=32", applied in order.
  /// Moves every price by so many times the median error of its calibration: -1, 0 or 1.
  double error_band = 0.0;
  /// Added to the seed, for replications; `resolved` states the seed without it.
  std::uint64_t seed_shift = 0;
};

/// Reads, checks and builds a scenario. Throws ConfigError with every mistake found.
[[nodiscard]] Scenario load_scenario(const std::string& path, const ScenarioOptions& options = {});

/// The same from text; `file` is for messages, and trace files are relative to its folder.
[[nodiscard]] Scenario parse_scenario(const std::string& file, const std::string& text,
                                      const ScenarioOptions& options = {});

/// The keys of a scenario, as `tokenline describe scenario` shows them.
[[nodiscard]] std::vector<config::KeyInfo> scenario_keys();

}  // namespace tokenline
