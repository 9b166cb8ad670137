#include "sim/report/pool_summary.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/stats/summary.hpp"

namespace tokenline::report {
namespace {

void add_times(Figures& figures, std::string_view what, std::vector<double>& ms) {
  const stats::Distribution d = stats::summarize(ms);
  for (const auto& [statistic, value] : {std::pair{"mean", d.mean}, std::pair{"median", d.median},
                                         std::pair{"p90", d.p90}, std::pair{"p99", d.p99}})
    figures.amount(fmt::format("{}_{}_ms", statistic, what), value);
}

Figures figures_of(const TransferCounts& counts, const RequestRecords& records) {
  std::vector<double> queue;
  std::vector<double> wire;
  for (const RequestRecord& record : records) {
    if (!record.measured || record.outcome != Outcome::completed) continue;
    if (record.parts[Part::transfer_wire] == Duration{}) continue;  // decoded where it was computed
    queue.push_back(milliseconds(record.parts[Part::transfer_queue]));
    wire.push_back(milliseconds(record.parts[Part::transfer_wire]));
  }
  Figures figures;
  figures.count("landed", counts.landed);
  figures.count("cancelled", counts.cancelled);
  figures.count("delivered_bytes", counts.flows.delivered);
  add_times(figures, "queue", queue);
  add_times(figures, "wire", wire);
  return figures;
}

}  // namespace

Figure over_instances(std::span<const InstanceSummary* const> instances, std::string_view key) {
  Figure result{.key = std::string(key), .value = {}, .whole = true};
  const bool peak = key.find("peak") != std::string_view::npos;
  bool mean = false;
  double count = 0.0;
  for (const InstanceSummary* instance : instances) {
    const Figure* figure = instance->figures.find(key);
    if (figure == nullptr) continue;  // Of a prefix cache, where there is none.
    result.whole = figure->whole;
    mean = !figure->whole && !peak && key != "down_s";
    if (!figure->value) continue;
    count += 1.0;
    if (!result.value)
      result.value = figure->value;
    else
      result.value =
          peak ? std::max(*result.value, *figure->value) : *result.value + *figure->value;
  }
  if (mean && result.value) *result.value /= count;
  return result;
}

std::vector<PoolSummary> summarize_pools(const Scenario& scenario,
                                         const std::vector<InstanceSummary>& instances) {
  std::vector<PoolSummary> pools;
  for (const Pool& pool : scenario.pools) {
    std::vector<const InstanceSummary*> own;
    for (const InstanceSummary& instance : instances)
      if (instance.pool == pool.name) own.push_back(&instance);
    PoolSummary summary{.name = pool.name,
                        .role = std::string(name(pool.role)),
                        .gpu = pool.cost->setup().gpu.name,
                        .figures = {}};
    summary.figures.count("replicas", pool.replicas);
    for (const std::string& key : instance_figure_keys()) {
      const Figure figure = over_instances(own, key);
      if (figure.whole)
        summary.figures.count(key, static_cast<std::int64_t>(figure.value.value_or(0.0)));
      else
        summary.figures.amount(key, figure.value);
    }
    pools.push_back(std::move(summary));
  }
  return pools;
}

std::optional<Figures> summarize_transfers(const RunResult& run) {
  if (!run.transfers) return {};
  return figures_of(*run.transfers, run.log.records);
}

std::vector<std::string> transfer_figure_keys() { return figures_of({}, {}).keys(); }

}  // namespace tokenline::report
