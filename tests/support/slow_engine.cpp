#include "tests/support/slow_engine.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "sim/policies/policies.hpp"
#include "tests/support/slow_replica.hpp"

namespace tokenline::test {
namespace {

/// Traffic, router and replicas of a slow run.
class SlowCluster {
 public:
  explicit SlowCluster(Scenario& scenario)
      : scenario_(scenario),
        admission_(builtin_policies()
                       .admission.at(scenario.cluster.admission)
                       .make(scenario.cluster.admission_setup)),
        router_(
            builtin_policies().router.at(scenario.cluster.router).make({.seed = scenario.seed})),
        world_{.scenario = scenario,
               .events = events_,
               .run = run_,
               .completed = [this](std::uint32_t request) { ended(request); },
               .crashed = [this](std::uint32_t request) { crashed(request); }} {
    run_.token_gaps.resize(scenario.traffic.classes.size());
    for (std::int64_t i = 0; i < scenario.cluster.replicas; ++i)
      replicas_.push_back(std::make_unique<SlowReplica>(world_, static_cast<std::uint32_t>(i)));
  }
  SlowCluster(const SlowCluster&) = delete;
  SlowCluster& operator=(const SlowCluster&) = delete;

  SlowRun run() {
    for (std::size_t source = 0; source < scenario_.traffic.sources.size(); ++source)
      expect_next(source);
    events_.run();
    run_.end = events_.now();
    return std::move(run_);
  }

 private:
  void expect_next(std::size_t source) {
    const auto arrival = scenario_.traffic.sources[source]->next();
    if (!arrival) return;
    events_.at(arrival->when, Phase::arrival, [this, source, arrival = *arrival] {
      expect_next(source);
      arrive(source, arrival);
    });
  }

  void arrive(std::size_t source, const traffic::Arrival& arrival) {
    RequestRecord record;
    record.arrival = arrival.when;
    record.prompt_tokens = arrival.prompt_tokens;
    record.output_tokens = arrival.output_tokens;
    record.class_index = arrival.class_index;
    record.source = static_cast<std::uint32_t>(source);
    record.session = arrival.session;
    if (scenario_.measure)
      record.measured = arrival.when >= scenario_.measure->from &&
                        (!scenario_.measure->to || arrival.when < *scenario_.measure->to);
    record.class_number = static_cast<std::uint32_t>(
        std::ranges::count(run_.records, record.class_index, &RequestRecord::class_index));
    run_.records.push_back(record);
    run_.cached_tokens.push_back(0);
    const auto request = static_cast<std::uint32_t>(run_.records.size() - 1);
    std::vector<std::size_t> candidates = able();
    if (admission_ != nullptr) {
      if (!admission_->admits({.now = arrival.when,
                               .class_index = arrival.class_index,
                               .prompt_tokens = arrival.prompt_tokens},
                              views(candidates))) {
        run_.records.back().outcome = Outcome::rejected;
        run_.records.back().finish = arrival.when;
        ended(request);
        return;
      }
      std::erase_if(candidates,
                    [this](std::size_t i) { return !admission_->has_room(replicas_[i]->view()); });
    }
    route(request, candidates);
  }

  /// Replicas that are up; all, when none is.
  [[nodiscard]] std::vector<std::size_t> able() const {
    std::vector<std::size_t> candidates;
    for (std::size_t i = 0; i < replicas_.size(); ++i)
      if (replicas_[i]->up()) candidates.push_back(i);
    if (candidates.empty())
      for (std::size_t i = 0; i < replicas_.size(); ++i) candidates.push_back(i);
    return candidates;
  }

  [[nodiscard]] std::vector<ReplicaView> views(const std::vector<std::size_t>& candidates) const {
    std::vector<ReplicaView> all;
    for (const std::size_t i : candidates) all.push_back(replicas_[i]->view());
    return all;
  }

  void route(std::uint32_t request, const std::vector<std::size_t>& candidates) {
    const RequestRecord& record = run_.records[request];
    RouteRequest asked{.id = request, .prompt_tokens = record.prompt_tokens};
    for (const auto& run : scenario_.traffic.sources[record.source]->content(record.session))
      if (run.tokens == traffic::ContentRun::endless) asked.session = run.id;
    std::vector<ReplicaView> seen = views(candidates);
    for (std::size_t i = 0; i < candidates.size(); ++i)
      seen[i].cached_tokens = replicas_[candidates[i]]->cached_tokens(request);
    replicas_[candidates[router_->route(asked, seen)]]->enqueue(request);
  }

  void crashed(std::uint32_t request) {
    RequestRecord& record = run_.records[request];
    const TimePoint now = events_.now();
    record.first_token = {};
    record.ttft_parts = {};
    record.parts = {};
    record.parts[Part::restart] = now - record.arrival;
    if (scenario_.cluster.retry_after_oom && record.retries < scenario_.cluster.max_retries) {
      ++record.retries;
      events_.at(now, Phase::arrival, [this, request] { route(request, able()); });
      return;
    }
    record.outcome = Outcome::lost_oom;
    record.finish = now;
    ended(request);
  }

  void ended(std::uint32_t request) {
    const RequestRecord& record = run_.records[request];
    const std::size_t source = record.source;
    const auto next = scenario_.traffic.sources[source]->finished(
        {events_.now(), record.session, record.outcome == Outcome::completed});
    if (!next) return;
    events_.at(next->when, Phase::arrival,
               [this, source, arrival = *next] { arrive(source, arrival); });
  }

  Scenario& scenario_;
  std::unique_ptr<AdmissionControl> admission_;
  std::unique_ptr<Router> router_;
  SlowEvents events_;
  SlowRun run_;
  SlowReplica::World world_;
  std::vector<std::unique_ptr<SlowReplica>> replicas_;
};

}  // namespace

SlowRun run_slowly(Scenario& scenario) { return SlowCluster(scenario).run(); }

}  // namespace tokenline::test
