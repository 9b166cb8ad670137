#include "sim/engine/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tokenline {
namespace {

QueueSetup queue_setup(const Scenario& scenario) {
  QueueSetup setup{.seed = scenario.seed,
                   .classes = {},
                   .length_prediction_sigma = scenario.engine.length_prediction_sigma};
  for (const traffic::RequestClass& c : scenario.traffic.classes)
    setup.classes.push_back({.name = c.name, .priority = c.priority, .ttft_target = c.slo.ttft});
  return setup;
}

std::optional<CacheAudit> cache_of(const Instance& instance) {
  if (instance.cache() == nullptr) return {};
  return CacheAudit{.blocks = instance.pool().total(),
                    .used = instance.pool().used(),
                    .census = instance.cache()->census()};
}

}  // namespace

Cluster::Cluster(Scenario& scenario) : scenario_(scenario) {
  const Policies policies = builtin_policies();
  log_.token_gaps.resize(scenario.traffic.classes.size());
  next_.resize(scenario.traffic.sources.size());
  class_counts_.resize(scenario.traffic.classes.size());
  const QueueSetup setup = queue_setup(scenario);
  const bool alike = scenario.engine.enable_prefix_caching && begin_alike(scenario.traffic);
  const traffic::Traffic* shared = alike ? &scenario.traffic : nullptr;
  admission_ =
      policies.admission.at(scenario.cluster.admission).make(scenario.cluster.admission_setup);
  router_ = policies.router.at(scenario.cluster.router).make({.seed = scenario.seed});
  for (std::int64_t i = 0; i < scenario.cluster.replicas; ++i)
    instances_.push_back(std::make_unique<Instance>(
        Instance::Wiring{.simulation = simulation_,
                         .log = log_,
                         .listener = *this,
                         .config = scenario.engine,
                         .cost = *scenario.cost,
                         .memory = scenario.stage_memory,
                         .scheduler = policies.scheduler.at(scenario.engine.scheduler).make(),
                         .speculation = scenario.speculation ? &*scenario.speculation : nullptr,
                         .shared = shared,
                         .seed = scenario.seed,
                         .queue = policies.queue.at(scenario.engine.queue_policy).make(setup),
                         .restart_delay = scenario.cluster.restart_delay,
                         .index = static_cast<std::uint32_t>(i)}));
}

RunResult Cluster::run(std::span<const TimePoint> probes) {
  watch_window();
  for (const TimePoint when : probes)
    simulation_.at(when, Phase::sample, [this] { depths_.push_back(queue_depth()); });
  for (std::size_t source = 0; source < scenario_.traffic.sources.size(); ++source)
    schedule_next(source);
  simulation_.run();

  RunResult result;
  result.end = simulation_.last_change();
  result.events = simulation_.executed();
  result.fingerprint = simulation_.fingerprint();
  result.audit = audit_run();
  result.classes = scenario_.traffic.classes;
  const std::vector<InstanceStats> last = snapshot();
  for (std::size_t i = 0; i < instances_.size(); ++i) {
    InstanceStats to = at_to_.empty() ? last[i] : at_to_[i];
    InstanceStats from = at_from_.empty() ? InstanceStats{} : at_from_[i];
    // A window may reach beyond the last thing that happens.
    to.as_of = std::min(to.as_of, result.end);
    from.as_of = std::min(from.as_of, result.end);
    result.instances.push_back({.name = fmt::format("replica-{}", i),
                                .whole = last[i],
                                .measured = to.since(from),
                                .measured_from = from.as_of,
                                .kv_blocks = instances_[i]->pool().total(),
                                .prefix_cache = instances_[i]->cache() != nullptr});
  }
  result.log = std::move(log_);
  result.depths = std::move(depths_);
  return result;
}

void Cluster::watch_window() {
  if (!scenario_.measure) return;
  // At the start every counter is zero, before the decisions of that instant.
  if (scenario_.measure->from > TimePoint{})
    simulation_.at(scenario_.measure->from, Phase::sample, [this] { at_from_ = snapshot(); });
  if (scenario_.measure->to)
    simulation_.at(*scenario_.measure->to, Phase::sample, [this] { at_to_ = snapshot(); });
}

void Cluster::schedule_next(std::size_t source) {
  next_[source] = scenario_.traffic.sources[source]->next();
  if (!next_[source]) return;
  // Captures two words, so that std::function does not allocate.
  simulation_.at(next_[source]->when, Phase::arrival, [this, source] {
    const traffic::Arrival arrival = next_[source].value();
    schedule_next(source);
    arrive(source, arrival);
  });
}

void Cluster::arrive(std::size_t source, const traffic::Arrival& arrival) {
  const auto request = static_cast<std::uint32_t>(log_.records.size());
  RequestRecord& record = log_.records.emplace_back();
  record.arrival = arrival.when;
  record.prompt_tokens = arrival.prompt_tokens;
  record.output_tokens = arrival.output_tokens;
  record.class_index = arrival.class_index;
  record.class_number = class_counts_[arrival.class_index]++;
  record.source = static_cast<std::uint32_t>(source);
  record.session = arrival.session;
  if (instances_.front()->cache() != nullptr) log_.cached_tokens.push_back(0);
  if (const auto& window = scenario_.measure)
    record.measured = arrival.when >= window->from && (!window->to || arrival.when < *window->to);
  ++offered_;
  in_system_.add(arrival.when, 1);
  if (admission_ == nullptr && instances_.size() == 1) {
    instances_.front()->enqueue(request);  // There is nothing to decide.
    return;
  }
  look_at_replicas();
  if (admission_ == nullptr || admits(record))
    route(request);
  else
    reject(request);
}

void Cluster::look_at_replicas() {
  candidates_.clear();
  views_.clear();
  for (const bool any : {false, true}) {
    for (std::size_t i = 0; i < instances_.size(); ++i)
      if (any || instances_[i]->up()) {
        candidates_.push_back(i);
        views_.push_back(instances_[i]->view());
      }
    if (!candidates_.empty()) break;
  }
}

bool Cluster::admits(const RequestRecord& record) {
  if (!admission_->admits({.now = record.arrival,
                           .class_index = record.class_index,
                           .prompt_tokens = record.prompt_tokens},
                          views_))
    return false;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < views_.size(); ++i) {
    if (!admission_->has_room(views_[i])) continue;
    views_[kept] = views_[i];
    candidates_[kept++] = candidates_[i];
  }
  TOKENLINE_CHECK(kept > 0, "admission '{}' admits a request that no replica has room for",
                  scenario_.cluster.admission);
  views_.resize(kept);
  candidates_.resize(kept);
  return true;
}

void Cluster::reject(std::uint32_t request) {
  RequestRecord& record = log_.records[request];
  record.outcome = Outcome::rejected;
  record.finish = record.arrival;
  ++rejected_;
  ended(request);
}

void Cluster::route(std::uint32_t request) {
  const RequestRecord& record = log_.records[request];
  if (router_->asks_for_prefixes())
    for (std::size_t i = 0; i < views_.size(); ++i)
      views_[i].cached_tokens = instances_[candidates_[i]]->cached_tokens(request);
  const std::size_t chosen = router_->route(
      {.id = request,
       .prompt_tokens = record.prompt_tokens,
       .session =
           conversation_of(scenario_.traffic.sources[record.source]->content(record.session))},
      views_);
  TOKENLINE_CHECK(chosen < candidates_.size(), "router '{}' chose {} of {} replicas",
                  scenario_.cluster.router, chosen, candidates_.size());
  instances_[candidates_[chosen]]->enqueue(request);
}

void Cluster::completed(std::uint32_t request) { ended(request); }

void Cluster::crashed(std::uint32_t request) {
  RequestRecord& record = log_.records[request];
  const TimePoint now = simulation_.now();
  // Whatever the lost attempt did was in vain: its time is the crash's.
  record.parts = {};
  record.parts[Part::restart] = now - record.arrival;
  record.ttft_parts = {};
  record.first_token = {};
  if (scenario_.cluster.retry_after_oom && record.retries < scenario_.cluster.max_retries) {
    ++record.retries;
    simulation_.at(now, Phase::arrival, [this, request] {
      look_at_replicas();
      route(request);
    });
    return;
  }
  record.outcome = Outcome::lost_oom;
  record.finish = now;
  ended(request);
}

void Cluster::ended(std::uint32_t request) {
  const RequestRecord& record = log_.records[request];
  const std::size_t source = record.source;
  ++ended_;
  in_system_.add(record.finish, -1);
  if (const auto next = scenario_.traffic.sources[source]->finished(
          {record.finish, record.session, record.outcome == Outcome::completed}))
    simulation_.at(next->when, Phase::arrival,
                   [this, source, arrival = *next] { arrive(source, arrival); });
}

std::vector<InstanceStats> Cluster::snapshot() const {
  std::vector<InstanceStats> all;
  all.reserve(instances_.size());
  for (const auto& instance : instances_) all.push_back(instance->stats());
  return all;
}

QueueDepth Cluster::queue_depth() const {
  QueueDepth depth{.when = simulation_.now()};
  for (const auto& instance : instances_) {
    depth.running += instance->in_batches();
    depth.waiting += instance->queue_length();
  }
  return depth;
}

AuditReport Cluster::audit_run() const {
  AuditInput input{.log = log_,
                   .instances = {},
                   .offered = offered_,
                   .ended = ended_,
                   .rejected = rejected_,
                   .in_system = in_system_.integral(simulation_.last_change()),
                   .end = simulation_.last_change()};
  for (const auto& instance : instances_)
    input.instances.push_back({.stats = instance->stats(),
                               .blocks_allocated = instance->pool().allocated(),
                               .blocks_released = instance->pool().released(),
                               .outstanding = instance->outstanding(),
                               .hbm_capacity = scenario_.memory.capacity,
                               .cache = cache_of(*instance)});
  return audit(input);
}

RunResult run(Scenario& scenario, std::span<const TimePoint> probes) {
  return Cluster(scenario).run(probes);
}

}  // namespace tokenline
