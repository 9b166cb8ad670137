#include "sim/report/summary.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/integer.hpp"
#include "sim/report/digest.hpp"
#include "sim/report/pool_summary.hpp"

namespace tokenline::report {
namespace {

std::optional<double> share_of(Duration part, Duration whole) {
  return ratio(static_cast<double>(part.count()), static_cast<double>(whole.count()));
}

void add_off_grid(Summary& summary, const std::vector<InstanceResult>& instances) {
  hw::OperatorTimes outside;
  Seconds gpu;
  Seconds error;
  for (const InstanceResult& instance : instances) {
    outside += instance.measured.off_grid;
    gpu += to_seconds(instance.measured.gpu);
    error += instance.measured.price_error;
  }
  summary.price_error_fraction = ratio(error.value(), gpu.value());
  summary.off_grid_fraction = ratio(outside.total().value(), gpu.value());
  for (std::size_t i = 0; i < hw::operator_kinds; ++i) {
    const auto share = ratio(outside.by_kind[i].value(), gpu.value());
    if (share && *share > 0.0)
      summary.off_grid_by_operator.emplace_back(name(static_cast<hw::OperatorKind>(i)), *share);
  }
  std::ranges::stable_sort(summary.off_grid_by_operator, std::greater<>(),
                           &std::pair<std::string, double>::second);
}

void add_traffic(Summary& summary, const traffic::Traffic& traffic) {
  for (const traffic::LeftOut& left : traffic.left_out)
    summary.left_out.emplace_back(left.path, left.rows);
  for (const auto& source : traffic.sources)
    for (const traffic::Count& count : source->counts()) {
      const auto known = std::ranges::find(summary.sessions, count.name,
                                           &std::pair<std::string, std::int64_t>::first);
      if (known == summary.sessions.end())
        summary.sessions.emplace_back(count.name, count.count);
      else
        known->second += count.count;
    }
}

ReplicaHardware hardware(const hw::ReplicaCost& cost, const EngineConfig& engine,
                         const MemoryPlan& memory) {
  const hw::Gpu& gpu = cost.setup().gpu;
  return {.gpu = gpu.name,
          .gpus = cost.setup().parallelism.gpus(),
          .peak_16bit = gpu.peak_16bit,
          .bandwidth = gpu.bandwidth,
          .memory = memory.capacity,
          .pool_block_size = engine.pool_block_size(),
          .kv_bytes_per_token = memory.block / static_cast<double>(engine.pool_block_size()),
          .peak_8bit = gpu.peak_8bit,
          .stages = static_cast<std::int64_t>(cost.stages())};
}

/// "h100_sxm", or those of all pools, each once.
std::string gpu_names(const Scenario& scenario) {
  if (scenario.pools.empty()) return scenario.cost->setup().gpu.name;
  std::vector<std::string> names;
  for (const Pool& pool : scenario.pools) {
    const std::string& name = pool.cost->setup().gpu.name;
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Tiers behind the KV pool; nothing without.
void add_tiers(Figures& figures, const InstanceResult& instance, const ReplicaHardware& hardware,
               double seconds) {
  if (instance.tiers.empty()) return;
  const InstanceStats& stats = instance.measured;
  const auto share = [seconds](Duration part) { return ratio(to_seconds(part).value(), seconds); };
  figures.count("external_prefix_cache_queries", stats.external_queried_tokens);
  figures.count("external_prefix_cache_hits", stats.external_hit_tokens);
  figures.amount("external_prefix_cache_hit_rate",
                 ratio(static_cast<double>(stats.external_hit_tokens),
                       static_cast<double>(stats.external_queried_tokens)));
  for (std::size_t i = 0; i < instance.tiers.size(); ++i) {
    const TierPlan& plan = instance.tiers[i];
    const TierCounts& counts = stats.tiers[i];
    const auto key = [&plan](std::string_view what) {
      return fmt::format("{}_tier_{}", plan.nvme ? "nvme" : "host", what);
    };
    const auto loads = static_cast<double>(counts.reads);
    figures.count(key("blocks"), plan.blocks);
    figures.amount(key("peak_fraction"), ratio(static_cast<double>(counts.peak_blocks),
                                               static_cast<double>(plan.blocks)));
    figures.count(key("hits"), counts.read_blocks * hardware.pool_block_size);
    figures.count(key("stores"), counts.written_blocks * hardware.pool_block_size);
    figures.count(key("evicted_blocks"), counts.evicted_blocks);
    figures.count(key("refused_blocks"), counts.refused_blocks);
    figures.amount(key("read_bytes"), (real(counts.read_blocks) * plan.block).value());
    figures.amount(key("written_bytes"), (real(counts.written_blocks) * plan.block).value());
    figures.amount(key("read_fraction"), share(counts.reading));
    figures.amount(key("write_fraction"), share(counts.writing));
    figures.amount(key("mean_queue_ms"), ratio(to_seconds(counts.queueing).value() * 1e3, loads));
    figures.amount(key("mean_load_ms"), ratio(to_seconds(counts.reading).value() * 1e3, loads));
  }
}

}  // namespace

ReplicaHardware hardware_of(const Scenario& scenario, std::string_view pool) {
  const auto found = std::ranges::find(scenario.pools, pool, &Pool::name);
  if (found == scenario.pools.end())
    return hardware(*scenario.cost, scenario.engine, scenario.memory);
  return hardware(*found->cost, found->engine, found->memory);
}

InstanceSummary summarize_instance(const InstanceResult& instance,
                                   const ReplicaHardware& hardware) {
  const InstanceStats& stats = instance.measured;
  const Duration elapsed = stats.as_of - instance.measured_from;
  const double seconds = to_seconds(elapsed).value();
  const auto held = ratio(stats.kv_stored_seconds, stats.kv_allocated_seconds);

  InstanceSummary result{
      .name = instance.name, .gpu = hardware.gpu, .pool = instance.pool, .figures = {}};
  Figures& figures = result.figures;
  figures.count("gpus", hardware.gpus);
  figures.count("steps", stats.steps);
  figures.amount("busy_fraction", share_of(stats.busy, elapsed));
  figures.amount("flops_utilization",
                 ratio(stats.flops.value(), hardware.peak_16bit.value() * seconds));
  figures.amount("bandwidth_utilization",
                 ratio(stats.hbm_bytes.value(), hardware.bandwidth.value() * seconds));
  figures.count("kv_blocks", instance.kv_blocks);
  figures.count("kv_pool_tokens", instance.kv_blocks * hardware.pool_block_size);
  figures.amount("kv_bytes_per_token", hardware.kv_bytes_per_token.value());
  figures.amount("kv_peak_fraction", ratio(static_cast<double>(stats.kv_peak_blocks),
                                           static_cast<double>(instance.kv_blocks)));
  figures.amount("kv_waste_fraction",
                 held ? std::optional(std::max(0.0, 1.0 - *held)) : std::nullopt);
  figures.amount("hbm_peak_fraction", ratio(stats.hbm_peak.value(), hardware.memory.value()));
  figures.amount("mean_running", ratio(stats.running_seconds, seconds));
  figures.count("peak_running", stats.peak_running);
  figures.amount("mean_waiting", ratio(stats.waiting_seconds, seconds));
  figures.count("peak_waiting", stats.peak_waiting);
  figures.count("preemptions", stats.preemptions);
  figures.count("recomputed_tokens", stats.recomputed_tokens);
  if (instance.swap_blocks > 0) {
    figures.count("swap_blocks", instance.swap_blocks);
    figures.amount("swap_peak_fraction", ratio(static_cast<double>(stats.swap_peak_blocks),
                                               static_cast<double>(instance.swap_blocks)));
    figures.count("swapped_out_blocks", stats.swapped_out_blocks);
    figures.count("swapped_in_blocks", stats.swapped_in_blocks);
    figures.count("swap_space_lacking", stats.swap_space_lacking);
    figures.amount("swapping_fraction", share_of(stats.swapping, elapsed));
  }
  if (instance.prefix_cache) {
    figures.count("prefix_cache_queries", stats.queried_tokens);
    figures.count("prefix_cache_hits", stats.hit_tokens);
    figures.amount("prefix_cache_hit_rate", ratio(static_cast<double>(stats.hit_tokens),
                                                  static_cast<double>(stats.queried_tokens)));
  }
  add_tiers(figures, instance, hardware, seconds);
  figures.amount("tokens_per_pass",
                 ratio(static_cast<double>(stats.pass_tokens), static_cast<double>(stats.passes)));
  figures.amount("draft_acceptance_rate", ratio(static_cast<double>(stats.accepted_tokens),
                                                static_cast<double>(stats.drafted_tokens)));
  figures.amount("draft_alpha", ratio(static_cast<double>(stats.accepted_tokens),
                                      static_cast<double>(stats.tested_tokens)));
  figures.count("breaker_trips", stats.breaker_trips);
  figures.count("abandoned", stats.abandoned);
  figures.count("discarded_tokens", stats.discarded_tokens);
  figures.count("restarts", stats.restarts);
  figures.amount("down_s", to_seconds(stats.down).value());
  figures.amount("off_grid_fraction",
                 ratio(stats.off_grid.total().value(), to_seconds(stats.gpu).value()));
  return result;
}

std::vector<std::string> instance_figure_keys() {
  InstanceResult any;
  any.prefix_cache = true;
  any.swap_blocks = 1;
  any.tiers.resize(most_tiers);
  any.tiers.back().nvme = true;
  return summarize_instance(any, {}).figures.keys();
}

Figures summarize_fleet(const FleetResult& fleet, std::int64_t gpus, TimePoint end) {
  double serving = 0.0;
  double paid = 0.0;
  std::int64_t most = 0;
  std::int64_t least = fleet.sizes.empty() ? 0 : fleet.sizes.front().serving;
  for (std::size_t i = 0; i < fleet.sizes.size(); ++i) {
    const FleetSize& size = fleet.sizes[i];
    const TimePoint until = i + 1 < fleet.sizes.size() ? fleet.sizes[i + 1].when : end;
    const double seconds = to_seconds(until - size.when).value();
    serving += seconds * static_cast<double>(size.serving);
    paid += seconds * static_cast<double>(size.serving + size.starting + size.draining);
    most = std::max(most, size.serving);
    least = std::min(least, size.serving);
  }
  const double run = to_seconds(end - TimePoint{}).value();
  Figures figures;
  figures.amount("mean_replicas", ratio(serving, run));
  figures.count("least_replicas", least);
  figures.count("most_replicas", most);
  figures.count("scale_ups", fleet.scale_ups);
  figures.count("scale_downs", fleet.scale_downs);
  figures.amount("gpu_hours", paid * static_cast<double>(gpus) / 3600.0);
  return figures;
}

std::vector<std::string> fleet_figure_keys() { return summarize_fleet({}, 1, {}).keys(); }

const ClassSummary* Summary::find_class(std::string_view name) const {
  const auto found = std::ranges::find(classes, name, &ClassSummary::name);
  return found == classes.end() ? nullptr : &*found;
}

bool Summary::asserts_passed() const { return std::ranges::all_of(asserts, &AssertResult::passed); }

Summary summarize(const Scenario& scenario, const RunResult& run) {
  Summary summary;
  summary.scenario = scenario.name;
  summary.seed = scenario.seed;
  summary.config_sha256 = sha256_hex(config::emit_yaml(scenario.resolved));
  summary.simulated_s = to_seconds(run.end - TimePoint{}).value();
  summary.gpu = gpu_names(scenario);
  summary.engine = scenario.engine;
  summary.classes = summarize_classes(run, scenario.measure);
  for (const InstanceResult& instance : run.instances)
    summary.instances.push_back(summarize_instance(instance, hardware_of(scenario, instance.pool)));
  summary.pools = summarize_pools(scenario, summary.instances);
  summary.transfers = summarize_transfers(run);
  add_off_grid(summary, run.instances);
  add_traffic(summary, scenario.traffic);
  summary.faults = run.faults;
  summary.fleet = run.fleet;
  if (run.fleet)
    summary.fleet_figures =
        summarize_fleet(*run.fleet, scenario.cluster.parallelism.gpus(), run.end);
  summary.fidelity = fidelity(scenario, run, summary.classes);
  summary.audit = run.audit;
  return summary;
}

}  // namespace tokenline::report
