#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/engine/run.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/summary.hpp"

namespace tokenline::report {

/// One figure over replicas, of those that have a value: the largest of peaks, the sum of counts
/// and of `down_s`, the mean of everything else. Throws InternalError for a key that none has.
[[nodiscard]] Figure over_instances(std::span<const InstanceSummary* const> instances,
                                    std::string_view key);

/// Each pool of a scenario that has pools, in its order, with all figures of a replica.
[[nodiscard]] std::vector<PoolSummary> summarize_pools(
    const Scenario& scenario, const std::vector<InstanceSummary>& instances);

/// What moved between pools; empty where no pool hands over KV. Times are of the measured requests
/// that completed.
[[nodiscard]] std::optional<Figures> summarize_transfers(const RunResult& run);

/// The keys of those figures.
[[nodiscard]] std::vector<std::string> transfer_figure_keys();

}  // namespace tokenline::report
