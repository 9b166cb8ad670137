#pragma once

#include "sim/engine/scenario.hpp"

namespace tokenline {

/// The sections of a scenario that its cross-checks report to.
struct ScenarioSections {
  const config::Reader& root;
  const config::Reader& cluster;
  const config::Reader& engine;
};

/// No source offers a request longer than max_model_len. Reported at the length or the trace's row.
void check_lengths(const Scenario& scenario, const config::Reader& root);

/// The classes have what the order of the queue goes by.
void check_queue(const Scenario& scenario, const config::Reader& engine);

/// Whether the degrees of parallelism divide what they shard.
[[nodiscard]] bool check_sharding(const Scenario& scenario, const ScenarioSections& sections,
                                  const models::Architecture& model);

/// Whether the nodes of the network, if there is one, can hold such GPUs: an NVSwitch has no use
/// for those without NVLink.
[[nodiscard]] bool check_node(const hw::StepSetup& setup, const config::Reader& cluster);

/// Whether the cost model covers the setup; what it does not is reported at the key to change.
[[nodiscard]] bool check_priced(const hw::StepSetup& setup, const ScenarioSections& sections);

/// Whether the drafts of the scenario's speculation, if any, fit a step's tokens and can be priced
/// beside `setup`; they are then.
[[nodiscard]] bool check_speculation(Scenario& scenario, const hw::StepSetup& setup,
                                     const config::Reader& root);

/// The weights fit, the pool holds the longest request beside the watermark, and a pool that grows
/// on demand can run a request that is alone. Needs the scenario's cost and memory plan.
void check_memory(const Scenario& scenario, const ScenarioSections& sections);

/// Whether tiers behind the KV pool are modelled with this engine, parallelism and traffic, what
/// leads there is known and each holds a block. Needs the scenario's memory plan.
[[nodiscard]] bool check_offload(const Scenario& scenario, const ScenarioSections& sections);

/// Whether preemption by swap is modelled with this engine and parallelism, host links are known
/// and the swap space holds a block. Needs the scenario's memory plan.
[[nodiscard]] bool check_swap(const Scenario& scenario, const ScenarioSections& sections);

}  // namespace tokenline
