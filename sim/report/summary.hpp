#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/engine/run.hpp"
#include "sim/report/class_summary.hpp"
#include "sim/report/fidelity.hpp"
#include "sim/report/figures.hpp"

namespace tokenline::report {

/// One replica over the measured part of the run; peaks are over the whole run.
struct InstanceSummary {
  std::string name;
  std::string gpu;
  std::string pool;  ///< InstanceResult::pool.
  Figures figures;   ///< README.md defines each.
};

/// The replicas of a pool together.
struct PoolSummary {
  std::string name;
  std::string role;
  std::string gpu;
  Figures figures;  ///< `replicas` and those of a replica, over the pool (metric.hpp).
};

/// What instance figures are relative to.
struct ReplicaHardware {
  std::string gpu;
  std::int64_t gpus = 1;      ///< That share one replica.
  FlopsPerSecond peak_16bit;  ///< Of one of them, as the rest.
  BytesPerSecond bandwidth;
  Bytes memory;
  std::int64_t pool_block_size = 1;  ///< Tokens of a block of the replica's KV pool.
  Bytes kv_bytes_per_token;          ///< On one GPU.
  FlopsPerSecond peak_8bit = {};     ///< Zero where there is none.
  std::int64_t stages = 1;           ///< Of the pipeline.
};

/// Of the replicas of a pool; of all where there are no pools.
[[nodiscard]] ReplicaHardware hardware_of(const Scenario& scenario, std::string_view pool);

[[nodiscard]] InstanceSummary summarize_instance(const InstanceResult& instance,
                                                 const ReplicaHardware& hardware);

/// The keys of InstanceSummary::figures, those of a prefix cache included.
[[nodiscard]] std::vector<std::string> instance_figure_keys();

/// What autoscaling came to, over the whole run. `gpus` share a replica.
[[nodiscard]] Figures summarize_fleet(const FleetResult& fleet, std::int64_t gpus, TimePoint end);

/// The keys of summarize_fleet().
[[nodiscard]] std::vector<std::string> fleet_figure_keys();

/// A condition of the scenario's `assert:` and what became of it.
struct AssertResult {
  std::string condition;
  std::optional<double> value;  ///< Empty where the metric is: the condition then fails.
  bool passed = false;
};

/// Everything a report says of a run: the content of summary.json. A pure function of the run.
struct Summary {
  std::string scenario;
  std::uint64_t seed = 0;
  std::string config_sha256;  ///< Of emit_yaml() of the resolved scenario.
  double simulated_s = 0.0;
  std::string gpu;
  EngineConfig engine;
  std::vector<ClassSummary> classes;  ///< "all" first.
  std::vector<InstanceSummary> instances;
  std::vector<PoolSummary> pools;           ///< Empty without pools.
  std::optional<Figures> transfers;         ///< Empty where no pool hands over KV.
  std::optional<double> off_grid_fraction;  ///< Of the GPU time of all instances.
  /// The same by kind of operator, largest first, without those that have none.
  std::vector<std::pair<std::string, double>> off_grid_by_operator;
  /// Median error of the calibration, weighted by the GPU time of the operators.
  std::optional<double> price_error_fraction;
  /// Rows of data files that a key of the scenario leaves out, by the path of the key; what became
  /// of conversations, over all sources.
  std::vector<std::pair<std::string, std::int64_t>> left_out;
  std::vector<std::pair<std::string, std::int64_t>> sessions;
  std::vector<FaultResult> faults;
  std::optional<FleetResult> fleet;  ///< With cluster.autoscale,
  Figures fleet_figures;             ///< and empty without.
  std::optional<Fidelity> fidelity;  ///< With observed.
  AuditReport audit;
  std::vector<AssertResult> asserts;

  /// The class of that name, or null.
  [[nodiscard]] const ClassSummary* find_class(std::string_view name) const;
  [[nodiscard]] bool asserts_passed() const;
};

/// Summarises a run of `scenario`, without its asserts (assertions.hpp).
[[nodiscard]] Summary summarize(const Scenario& scenario, const RunResult& run);

/// The text of summary.json: one object, doubles in their shortest exact form, empty as null.
[[nodiscard]] std::string summary_json(const Summary& summary);

}  // namespace tokenline::report
