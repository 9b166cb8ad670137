#include "sim/engine/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tokenline {
namespace {

QueueSetup queue_setup(const Scenario& scenario, const EngineConfig& engine) {
  QueueSetup setup{.seed = scenario.seed,
                   .classes = {},
                   .length_prediction_sigma = engine.length_prediction_sigma};
  for (const traffic::RequestClass& c : scenario.traffic.classes)
    setup.classes.push_back({.name = c.name, .priority = c.priority, .ttft_target = c.slo.ttft});
  return setup;
}

/// A fleet has more replicas than places while some of them drain: then places repeat.
std::span<const PriceChange> changes_of(const Scenario& scenario, std::size_t replica) {
  if (scenario.price_changes.empty()) return {};
  return scenario.price_changes[replica % scenario.price_changes.size()];
}

std::optional<CacheAudit> cache_of(const Instance& instance) {
  if (instance.cache() == nullptr) return {};
  return CacheAudit{.blocks = instance.pool().total(),
                    .used = instance.pool().used(),
                    .census = instance.cache()->census()};
}

std::optional<SwapAudit> swap_of(const Instance& instance) {
  const KvPool& host = instance.host_pool();
  if (host.total() == 0) return {};
  return SwapAudit{
      .blocks = host.total(), .allocated = host.allocated(), .released = host.released()};
}

std::optional<TierAudit> tiers_of(const Instance& instance, const Pool& pool) {
  const KvTiers* tiers = instance.tiers();
  if (tiers == nullptr) return {};
  TierAudit audit{.census = tiers->census(),
                  .known = tiers->known(),
                  .block_size = pool.engine.pool_block_size()};
  for (std::size_t i = 0; i < pool.host.tiers.size(); ++i)
    audit.blocks[i] = pool.host.tiers[i].blocks;
  return audit;
}

}  // namespace

Cluster::Cluster(Scenario& scenario, RunObserver* observer)
    : scenario_(scenario), observer_(observer) {
  const Policies policies = builtin_policies();
  log_.token_gaps.resize(scenario.traffic.classes.size());
  next_.resize(scenario.traffic.sources.size());
  class_counts_.resize(scenario.traffic.classes.size());
  admission_ =
      policies.admission.at(scenario.cluster.admission).make(scenario.cluster.admission_setup);
  if (!std::ranges::all_of(scenario.traffic.classes,
                           [](const auto& c) { return c.client.patient(); }))
    clients_ = std::make_unique<Clients>(simulation_, log_, static_cast<ClientListener&>(*this),
                                         scenario.traffic.classes, scenario.seed);
  router_ = policies.router.at(scenario.cluster.router).make({.seed = scenario.seed});
  if (scenario.pools.empty())
    unnamed_.push_back({.name = "replica",
                        .role = PoolRole::both,
                        .replicas = scenario.cluster.replicas,
                        .parallelism = scenario.cluster.parallelism,
                        .engine = scenario.engine,
                        .cost = scenario.cost,
                        .stage_memory = scenario.stage_memory,
                        .memory = scenario.memory,
                        .host = scenario.host});
  for (const Pool& pool : scenario.pools.empty() ? unnamed_ : scenario.pools)
    for (std::int64_t i = 0; i < pool.replicas; ++i) add_replica(pool, policies);
  connect_pools(policies);
  if (scenario.cluster.autoscale)
    autoscaler_ = std::make_unique<Autoscaler>(
        simulation_, *scenario.cluster.autoscale, scenario.provisioning(), instances_,
        [this] { add_replica(unnamed_.front(), builtin_policies()); });
}

void Cluster::add_replica(const Pool& pool, const Policies& policies) {
  const bool hands_over = pool.role == PoolRole::prefill;
  const bool alike = pool.engine.enable_prefix_caching && begin_alike(scenario_.traffic);
  finds_prefixes_ |= alike;
  pools_.push_back(&pool);
  instances_.push_back(std::make_unique<Instance>(Instance::Wiring{
      .simulation = simulation_,
      .log = log_,
      .listener = *this,
      .config = pool.engine,
      .cost = *pool.cost,
      .memory = pool.stage_memory,
      .host = pool.host,
      .scheduler = policies.scheduler.at(pool.engine.scheduler).make(),
      .speculation = scenario_.speculation ? &*scenario_.speculation : nullptr,
      .shared = alike ? &scenario_.traffic : nullptr,
      .seed = scenario_.seed,
      .queue =
          policies.queue.at(pool.engine.queue_policy).make(queue_setup(scenario_, pool.engine)),
      .faults = scenario_.faults,
      .restart_delay = scenario_.cluster.restart_delay,
      .index = static_cast<std::uint32_t>(instances_.size()),
      .hands_over = hands_over,
      .first_token_leaves = !hands_over || scenario_.disaggregation.first_token_from_prefill,
      .tells_pieces = hands_over && scenario_.disaggregation.layerwise,
      .price_changes = changes_of(scenario_, instances_.size()),
      .observer = observer_}));
}

void Cluster::connect_pools(const Policies& policies) {
  const auto has = [this](PoolRole role) {
    return std::ranges::find(pools_, role, &Pool::role) != pools_.end();
  };
  if (!has(PoolRole::prefill)) return;
  if (!has(PoolRole::both)) own_role_ = PoolRole::decode;
  decode_router_ = policies.router.at(scenario_.cluster.router).make({.seed = scenario_.seed});
  std::vector<TransferEnd> ends;
  for (std::size_t i = 0; i < instances_.size(); ++i)
    ends.push_back(
        {.instance = instances_[i].get(), .pool = pools_[i], .gpus = &scenario_.cluster.gpus[i]});
  transfers_ = std::make_unique<Transfers>(simulation_, log_, *scenario_.cluster.network,
                                           scenario_.disaggregation, std::move(ends));
}

RunResult Cluster::run(std::span<const TimePoint> probes, std::stop_token stop) {
  simulation_.stop_on(std::move(stop));
  expect_faults();
  if (autoscaler_ != nullptr) autoscaler_->start();
  watch_window();
  for (const TimePoint when : probes)
    simulation_.at(when, Phase::sample, [this] { depths_.push_back(queue_depth()); });
  for (std::size_t source = 0; source < scenario_.traffic.sources.size(); ++source)
    schedule_next(source);
  close_if_over();
  simulation_.run();

  RunResult result;
  result.end = simulation_.last_change();
  result.events = simulation_.executed();
  result.fingerprint = simulation_.fingerprint();
  result.audit = audit_run();
  if (transfers_ != nullptr) result.transfers = transfers_->counts();
  result.classes = scenario_.traffic.classes;
  const std::vector<InstanceStats> last = snapshot();
  std::size_t number = 0;  // in its pool
  for (std::size_t i = 0; i < instances_.size(); ++i) {
    InstanceStats to = i < at_to_.size() ? at_to_[i] : at_to_.empty() ? last[i] : InstanceStats{};
    // One that was started later than the window begins had done nothing then.
    InstanceStats from = i < at_from_.size() ? at_from_[i] : InstanceStats{};
    // A window may reach beyond the last thing that happens.
    to.as_of = std::min(to.as_of, result.end);
    from.as_of = std::min(from.as_of, result.end);
    const bool first = i == 0 || pools_[i] != pools_[i - 1];
    number = first ? 0 : number + 1;
    result.instances.push_back({.name = fmt::format("{}-{}", pools_[i]->name, number),
                                .pool = pools_[i]->name,
                                .whole = last[i],
                                .measured = to.since(from),
                                .measured_from = from.as_of,
                                .kv_blocks = instances_[i]->pool().total(),
                                .swap_blocks = instances_[i]->host_pool().total(),
                                .tiers = pools_[i]->host.tiers,
                                .prefix_cache = instances_[i]->cache() != nullptr});
  }
  for (FaultResult& fault : faults_)
    if (fault.fault.kind != FaultKind::instance_crash) fault.happened = happened(fault.fault);
  result.faults = std::move(faults_);
  if (autoscaler_ != nullptr) result.fleet = std::move(autoscaler_->result());
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
  ++coming_;
  // Captures two words, so that std::function does not allocate.
  simulation_.at(next_[source]->when, Phase::arrival, [this, source] {
    const traffic::Arrival arrival = next_[source].value();
    --coming_;
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
  if (finds_prefixes_) log_.cached_tokens.push_back(0);
  if (const auto& window = scenario_.measure)
    record.measured = arrival.when >= window->from && (!window->to || arrival.when < *window->to);
  ++offered_;
  in_system_.add(arrival.when, 1);
  send(request);
}

void Cluster::send(std::uint32_t request) {
  if (clients_ != nullptr) clients_->sent(request);
  if (admission_ == nullptr && instances_.size() == 1 && autoscaler_ == nullptr) {
    place(0, request);  // There is nothing to decide.
    return;
  }
  look_at_replicas(first_role(log_.records[request]));
  if (admission_ == nullptr || admits(log_.records[request]))
    route(request);
  else
    attempt_failed(request, Outcome::rejected);
}

PoolRole Cluster::first_role(const RequestRecord& record) const {
  const bool handed_over =
      transfers_ != nullptr && record.prompt_tokens >= scenario_.disaggregation.min_prompt_tokens;
  return handed_over ? PoolRole::prefill : own_role_;
}

void Cluster::look_at_replicas(PoolRole role) {
  candidates_.clear();
  views_.clear();
  for (const bool any : {false, true}) {
    for (std::size_t i = 0; i < instances_.size(); ++i)
      if (pools_[i]->role == role && (any || instances_[i]->up()) &&
          (autoscaler_ == nullptr || autoscaler_->serves(i))) {
        candidates_.push_back(i);
        views_.push_back(instances_[i]->view());
      }
    if (!candidates_.empty()) break;
  }
}

bool Cluster::admits(const RequestRecord& record) {
  if (!admission_->admits({.now = simulation_.now(),
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

std::uint32_t Cluster::choose(Router& router, std::uint32_t request) {
  const RequestRecord& record = log_.records[request];
  if (router.asks_for_prefixes())
    for (std::size_t i = 0; i < views_.size(); ++i)
      views_[i].cached_tokens = instances_[candidates_[i]]->cached_tokens(request);
  RouteRequest asked{.id = request, .prompt_tokens = record.prompt_tokens};
  if (router.asks_for_sessions())
    asked.session =
        conversation_of(scenario_.traffic.sources[record.source]->content(record.session));
  const std::size_t chosen = router.route(asked, views_);
  TOKENLINE_CHECK(chosen < candidates_.size(), "router '{}' chose {} of {} replicas",
                  scenario_.cluster.router, chosen, candidates_.size());
  return static_cast<std::uint32_t>(candidates_[chosen]);
}

void Cluster::route(std::uint32_t request) { place(choose(*router_, request), request); }

void Cluster::place(std::size_t instance, std::uint32_t request) {
  const SequenceId id = instances_[instance]->enqueue(request);
  if (clients_ != nullptr) clients_->placed(request, id);
}

void Cluster::expect_elsewhere(std::uint32_t request) {
  look_at_replicas(PoolRole::decode);
  transfers_->begin(request, log_.records[request].instance, choose(*decode_router_, request));
}

void Cluster::cut_short(std::uint32_t instance, TimePoint now) {
  for (std::vector<InstanceStats>* stats : {&at_from_, &at_to_}) {
    if (instance >= stats->size()) continue;
    InstanceStats& then = (*stats)[instance];
    if (then.as_of <= now) continue;
    then.busy -= then.as_of - now;
    then.as_of = now;
  }
}

void Cluster::computing(const ComputedPiece& piece) {
  if (!transfers_->knows(piece.request)) expect_elsewhere(piece.request);
  transfers_->computing(piece);
}

void Cluster::prefilled(std::uint32_t request, SequenceId sequence) {
  if (!transfers_->knows(request)) expect_elsewhere(request);
  transfers_->prefilled(request, sequence);
}

void Cluster::reserved(std::uint32_t request, std::int64_t found) {
  transfers_->reserved(request, found);
}

void Cluster::completed(std::uint32_t request) { ended(request); }

void Cluster::ended(std::uint32_t request) {
  const RequestRecord& record = log_.records[request];
  const std::size_t source = record.source;
  ++ended_;
  in_system_.add(record.finish, -1);
  if (clients_ != nullptr) clients_->ended(request);
  if (autoscaler_ != nullptr) autoscaler_->left(record.instance);
  if (const auto next = scenario_.traffic.sources[source]->finished(
          {record.finish, record.session, record.outcome == Outcome::completed})) {
    ++coming_;
    simulation_.at(next->when, Phase::arrival, [this, source, arrival = *next] {
      --coming_;
      arrive(source, arrival);
    });
  }
  close_if_over();
}

void Cluster::expect(TimePoint when, std::function<void()> happens) {
  const std::size_t i = faults_to_come_.size();
  faults_to_come_.push_back(
      simulation_.at(when, Phase::completion, [this, i, happens = std::move(happens)] {
        faults_to_come_[i].reset();
        happens();
      }));
}

void Cluster::expect_faults() {
  for (const Fault& fault : scenario_.faults) {
    const std::size_t i = faults_.size();
    faults_.push_back({.fault = fault});
    if (fault.kind == FaultKind::instance_crash) expect(fault.at, [this, i] { crash(i); });
  }
  if (transfers_ == nullptr) return;
  for (const TimePoint when : brownout_changes(scenario_.faults))
    expect(when,
           [this] { transfers_->set_brownouts(brownouts(scenario_.faults, simulation_.now())); });
}

void Cluster::crash(std::size_t fault) {
  const Fault& crash = faults_[fault].fault;
  if (autoscaler_ != nullptr && !autoscaler_->exists(crash.replica)) return;
  faults_[fault].happened = true;
  instances_[crash.replica]->fail(crash.restart);
}

bool Cluster::happened(const Fault& fault) const {
  const TimePoint end = std::min(fault.to, simulation_.last_change());
  if (fault.at >= end) return false;
  return fault.kind == FaultKind::link_brownout || autoscaler_ == nullptr ||
         autoscaler_->existed(fault.replica, fault.at, end);
}

void Cluster::close_if_over() {
  if (coming_ > 0 || ended_ < offered_) return;
  if (autoscaler_ != nullptr) autoscaler_->stop();
  for (auto& fault : faults_to_come_)
    if (fault) simulation_.cancel(*std::exchange(fault, std::nullopt));
  if (!scenario_.faults.empty())
    for (const auto& instance : instances_) instance->stop_restart();
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
    depth.waiting +=
        instance->queue_length() + instance->swapped() + instance->loading() + instance->landing();
  }
  return depth;
}

AuditReport Cluster::audit_run() const {
  AuditInput input{.log = log_,
                   .instances = {},
                   .offered = offered_,
                   .ended = ended_,
                   .rejected = rejected_,
                   .timed_out = timed_out_,
                   .in_system = in_system_.integral(simulation_.last_change()),
                   .end = simulation_.last_change()};
  for (std::size_t i = 0; i < instances_.size(); ++i)
    input.instances.push_back({.stats = instances_[i]->stats(),
                               .blocks_allocated = instances_[i]->pool().allocated(),
                               .blocks_released = instances_[i]->pool().released(),
                               .outstanding = instances_[i]->outstanding(),
                               .hbm_capacity = pools_[i]->memory.capacity,
                               .cache = cache_of(*instances_[i]),
                               .swap = swap_of(*instances_[i]),
                               .tiers = tiers_of(*instances_[i], *pools_[i])});
  if (transfers_ != nullptr) input.transfers = transfers_->counts();
  return audit(input);
}

RunResult run(Scenario& scenario, std::span<const TimePoint> probes, RunObserver* observer,
              std::stop_token stop) {
  return Cluster(scenario, observer).run(probes, std::move(stop));
}

}  // namespace tokenline
