#include "sim/report/advice_subject.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/report/metric.hpp"

namespace tokenline::report {
namespace {

/// Peaks of the GPUs of one replica's steps.
struct Peaks {
  double stages = 1.0;
  FlopsPerSecond compute;
  BytesPerSecond memory;
};

Peaks peaks(const hw::ReplicaCost& cost) {
  const hw::Gpu& gpu = cost.setup().gpu;
  return {.stages = static_cast<double>(cost.stages()),
          .compute = gpu.peak_16bit,
          .memory = gpu.bandwidth};
}

/// By place of the replica among all; with an autoscaler all are alike.
std::vector<Peaks> replica_peaks(const Scenario& scenario) {
  std::vector<Peaks> all;
  for (const Pool& pool : scenario.pools)
    all.insert(all.end(), static_cast<std::size_t>(pool.replicas), peaks(*pool.cost));
  if (all.empty()) all.push_back(peaks(*scenario.cost));
  return all;
}

/// Sums up the steps of the measured part of a run.
class PhaseWatch final : public RunObserver {
 public:
  explicit PhaseWatch(const Scenario& scenario)
      : window_(scenario.measure), peaks_(replica_peaks(scenario)) {}

  void step(const ObservedStep& step) override {
    if (window_ && (step.begin < window_->from || (window_->to && step.begin >= *window_->to)))
      return;
    const Peaks& peak = peaks_[std::min<std::size_t>(step.instance, peaks_.size() - 1)];
    PhaseTime& phase = step.pieces.empty() ? decodes : mixed;
    phase.gpu += to_seconds(step.gpu);
    phase.prompts += to_seconds(step.gpu - step.decode);
    // FLOPs and bytes are the mean of the stages, the time is that of all.
    phase.compute += peak.stages * (step.flops / peak.compute);
    phase.memory += peak.stages * (step.hbm_bytes / peak.memory);
  }
  void sequence(const ObservedEvent& /*event*/) override {}
  void down(std::uint32_t /*instance*/, TimePoint /*from*/, TimePoint /*until*/) override {}

  PhaseTime mixed;
  PhaseTime decodes;

 private:
  std::optional<MeasureWindow> window_;
  std::vector<Peaks> peaks_;
};

bool has_role(const Scenario& scenario, PoolRole role) {
  return std::ranges::find(scenario.pools, role, &Pool::role) != scenario.pools.end();
}

bool handed_over(const Scenario& scenario, std::int64_t prompt_tokens) {
  return has_role(scenario, PoolRole::prefill) &&
         prompt_tokens >= scenario.disaggregation.min_prompt_tokens;
}

/// Whether the replicas take whole requests: those that are not handed over.
bool takes_whole(const Scenario& scenario, PoolRole role) {
  return role == PoolRole::both ||
         (role == PoolRole::decode && !has_role(scenario, PoolRole::both));
}

void count(LengthCount& counted, std::int64_t length, std::int64_t limit) {
  ++counted.all;
  if (length > limit) ++counted.beyond;
  counted.longest = std::max(counted.longest, length);
}

}  // namespace

std::vector<ReplicaKind> Subject::kinds() const {
  if (scenario.pools.empty())
    return {{.pool = "replica",
             .engine = "engine",
             .role = PoolRole::both,
             .replicas = std::ssize(run.instances),
             .config = &scenario.engine,
             .cost = scenario.cost.get(),
             .memory = &scenario.memory}};
  std::vector<ReplicaKind> kinds;
  for (const Pool& pool : scenario.pools)
    kinds.push_back({.pool = pool.name,
                     .engine = fmt::format("cluster.pools.{}.engine", pool.name),
                     .role = pool.role,
                     .replicas = pool.replicas,
                     .config = &pool.engine,
                     .cost = pool.cost.get(),
                     .memory = &pool.memory});
  return kinds;
}

std::int64_t Subject::gpus() const {
  std::int64_t sum = 0;
  for (const ReplicaKind& kind : kinds())
    sum += kind.replicas * kind.cost->setup().parallelism.gpus();
  return sum;
}

bool Subject::prefills(const ReplicaKind& kind, std::int64_t prompt_tokens) const {
  return handed_over(scenario, prompt_tokens) ? kind.role == PoolRole::prefill
                                              : takes_whole(scenario, kind.role);
}

bool Subject::decodes_for(const ReplicaKind& kind, std::int64_t prompt_tokens) const {
  return handed_over(scenario, prompt_tokens) ? kind.role == PoolRole::decode
                                              : takes_whole(scenario, kind.role);
}

LengthCount Subject::prompts(const ReplicaKind& kind, std::int64_t limit) const {
  LengthCount counted;
  for (const RequestRecord& r : run.log.records)
    if (r.measured && prefills(kind, r.prompt_tokens)) count(counted, r.prompt_tokens, limit);
  return counted;
}

LengthCount Subject::contexts(const ReplicaKind& kind, std::int64_t limit) const {
  LengthCount counted;
  for (const RequestRecord& r : run.log.records)
    if (r.measured && decodes_for(kind, r.prompt_tokens))
      count(counted, r.prompt_tokens + r.output_tokens, limit);
  return counted;
}

double Subject::replica_figure(const std::string& key) const {
  return metric(summary, "instances." + key).value.value_or(0.0);
}

double Subject::figure_of(const ReplicaKind& kind, const std::string& key) const {
  if (scenario.pools.empty()) return replica_figure(key);
  return metric(summary, fmt::format("pools.{}.{}", kind.pool, key)).value.value_or(0.0);
}

Subject simulate(Scenario scenario, bool watched) {
  Subject subject{
      .scenario = std::move(scenario), .run = {}, .summary = {}, .mixed = {}, .decodes = {}};
  PhaseWatch watch(subject.scenario);
  subject.run = tokenline::run(subject.scenario, {}, watched ? &watch : nullptr);
  subject.summary = summarize(subject.scenario, subject.run);
  subject.mixed = watch.mixed;
  subject.decodes = watch.decodes;
  return subject;
}

}  // namespace tokenline::report
