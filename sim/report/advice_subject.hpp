#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/engine/run.hpp"
#include "sim/report/summary.hpp"

namespace tokenline::report {

/// Replicas of one kind in a scenario: those of a pool, or all where there are no pools.
struct ReplicaKind {
  std::string pool;    ///< As InstanceResult::pool.
  std::string engine;  ///< Path of its engine's keys: "engine", "cluster.pools.<pool>.engine".
  PoolRole role = PoolRole::both;
  std::int64_t replicas = 1;
  const EngineConfig* config = nullptr;
  const hw::ReplicaCost* cost = nullptr;
  const MemoryPlan* memory = nullptr;

  /// The override of one of its engine's keys: "engine.block_size=16".
  [[nodiscard]] std::string set(const std::string& key, const std::string& value) const {
    return engine + "." + key + "=" + value;
  }
  [[nodiscard]] const models::Architecture& model() const { return cost->setup().model; }
  [[nodiscard]] const hw::Gpu& gpu() const { return cost->setup().gpu; }
};

/// GPU time of a kind of step in the measured part of a run, over all replicas.
struct PhaseTime {
  Seconds gpu;
  Seconds prompts;  ///< Of `gpu`, what its prompts add to its decodes.
  Seconds compute;  ///< What its FLOPs take at the dense 16-bit peak,
  Seconds memory;   ///< and its HBM bytes at full bandwidth.
};

/// How many of some requests are longer than a limit.
struct LengthCount {
  std::int64_t all = 0;
  std::int64_t beyond = 0;
  std::int64_t longest = 0;
};

/// A scenario after its run: what rules are held against. Of requests the measured ones count.
struct Subject {
  Scenario scenario;
  RunResult run;
  Summary summary;
  PhaseTime mixed;    ///< Steps with prompts,
  PhaseTime decodes;  ///< and without; both zero unless the run was watched.

  /// In the order of the scenario; they point into it.
  [[nodiscard]] std::vector<ReplicaKind> kinds() const;
  /// GPUs of all replicas.
  [[nodiscard]] std::int64_t gpus() const;
  /// Whether these replicas compute prompts of that length, and decode behind them.
  [[nodiscard]] bool prefills(const ReplicaKind& kind, std::int64_t prompt_tokens) const;
  [[nodiscard]] bool decodes_for(const ReplicaKind& kind, std::int64_t prompt_tokens) const;
  /// Prompts that these replicas compute, against a limit.
  [[nodiscard]] LengthCount prompts(const ReplicaKind& kind, std::int64_t limit) const;
  /// Whole contexts (prompt + output) that these replicas decode, against a limit.
  [[nodiscard]] LengthCount contexts(const ReplicaKind& kind, std::int64_t limit) const;
  /// A figure over all replicas, as metric() of "instances.<key>"; 0 where there is none.
  [[nodiscard]] double replica_figure(const std::string& key) const;
  /// The same over replicas of a kind.
  [[nodiscard]] double figure_of(const ReplicaKind& kind, const std::string& key) const;
};

/// Runs the scenario. Steps are timed by phase if it is `watched`.
[[nodiscard]] Subject simulate(Scenario scenario, bool watched);

}  // namespace tokenline::report
