#include "tests/support/slow_engine.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "sim/engine/client.hpp"
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
               .crashed = [this](std::uint32_t request, Outcome loss) { crashed(request, loss); }} {
    run_.token_gaps.resize(scenario.traffic.classes.size());
    for (std::int64_t i = 0; i < scenario.cluster.replicas; ++i)
      replicas_.push_back(std::make_unique<SlowReplica>(world_, static_cast<std::uint32_t>(i)));
  }
  SlowCluster(const SlowCluster&) = delete;
  SlowCluster& operator=(const SlowCluster&) = delete;

  SlowRun run() {
    for (const Fault& fault : scenario_.faults)
      if (fault.kind == FaultKind::instance_crash)
        events_.at(fault.at, Phase::completion, [this, &fault] { fail(fault); });
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
    ++coming_;
    events_.at(arrival->when, Phase::arrival, [this, source, arrival = *arrival] {
      --coming_;
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
    attempts_.push_back({.left = scenario_.traffic.classes[record.class_index].client.attempts});
    send(static_cast<std::uint32_t>(run_.records.size() - 1));
  }

  /// The client's attempt comes to the door.
  void send(std::uint32_t request) {
    const RequestRecord& record = run_.records[request];
    Attempt& attempt = attempts_[request];
    ++attempt.number;
    --attempt.left;
    attempt.sent = events_.now();
    const traffic::Client& its = client(request);
    if (its.ttft_timeout)
      expect_token(request, *its.ttft_timeout);
    else if (its.timeout)
      expect_token(request, *its.timeout);
    std::vector<std::size_t> candidates = able();
    if (admission_ != nullptr) {
      if (!admission_->admits({.now = events_.now(),
                               .class_index = record.class_index,
                               .prompt_tokens = record.prompt_tokens},
                              views(candidates))) {
        failed(request, Outcome::rejected);
        return;
      }
      std::erase_if(candidates,
                    [this](std::size_t i) { return !admission_->has_room(replicas_[i]->view()); });
    }
    route(request, candidates);
  }

  [[nodiscard]] const traffic::Client& client(std::uint32_t request) const {
    return scenario_.traffic.classes[run_.records[request].class_index].client;
  }

  /// The client looks at the clock `patience` after it has sent the attempt.
  void expect_token(std::uint32_t request, Duration patience) {
    events_.at(attempts_[request].sent + patience, Phase::arrival,
               [this, request, patience, number = attempts_[request].number] {
                 const RequestRecord& record = run_.records[request];
                 if (attempts_[request].number != number || attempts_[request].failed ||
                     record.outcome != Outcome::in_flight)
                   return;
                 const auto& whole = client(request).timeout;
                 const bool first = record.first_token == TimePoint{};
                 if (first || (whole && patience == *whole))
                   give_up(request);
                 else if (whole)
                   expect_token(request, *whole);
               });
  }

  void give_up(std::uint32_t request) {
    if (const auto sequence = attempts_[request].sequence)
      replicas_[run_.records[request].instance]->abandon(sequence,
                                                         client(request).abort_on_timeout);
    failed(request, Outcome::timed_out);
  }

  void forget(RequestRecord& record) const {
    record.first_token = {};
    record.ttft_parts = {};
    record.parts = {};
    record.parts[Part::restart] = events_.now() - record.arrival;
  }

  /// The attempt has failed, as the client sees it.
  void failed(std::uint32_t request, Outcome cause) {
    RequestRecord& record = run_.records[request];
    Attempt& attempt = attempts_[request];
    forget(record);
    attempt.sequence.reset();
    attempt.failed = true;
    bool again = attempt.left > 0;
    const traffic::RequestClass& its = scenario_.traffic.classes[record.class_index];
    if (const auto& budget = its.client.budget) {
      double& left = budgets_.emplace(record.class_index, budget->max_tokens).first->second;
      left = std::max(0.0, left - 1.0);
      again = again && left > budget->max_tokens / 2.0;
    }
    if (again) {
      ++record.retries;
      events_.at(
          events_.now() + retry_pause(its, scenario_.seed, record.class_number, attempt.number),
          Phase::arrival, [this, request] {
            forget(run_.records[request]);
            attempts_[request].failed = false;
            send(request);
          });
      return;
    }
    record.outcome = cause;
    record.finish = events_.now();
    ended(request);
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
    attempts_[request].sequence =
        replicas_[candidates[router_->route(asked, seen)]]->enqueue(request);
  }

  void crashed(std::uint32_t request, Outcome loss) {
    RequestRecord& record = run_.records[request];
    const TimePoint now = events_.now();
    Attempt& attempt = attempts_[request];
    if (scenario_.cluster.retry_after_oom && attempt.rerouted < scenario_.cluster.max_retries) {
      forget(record);
      attempt.sequence.reset();
      ++record.retries;
      ++attempt.rerouted;
      events_.at(now, Phase::arrival, [this, request, number = attempt.number] {
        const Attempt& its = attempts_[request];
        if (its.number == number && !its.failed) route(request, able());
      });
      return;
    }
    failed(request, loss);
  }

  void ended(std::uint32_t request) {
    const RequestRecord& record = run_.records[request];
    if (const auto& budget = client(request).budget;
        budget && record.outcome == Outcome::completed) {
      double& left = budgets_.emplace(record.class_index, budget->max_tokens).first->second;
      left = std::min(budget->max_tokens, left + budget->token_ratio);
    }
    const std::size_t source = record.source;
    const auto next = scenario_.traffic.sources[source]->finished(
        {events_.now(), record.session, record.outcome == Outcome::completed});
    if (!next) return;
    ++coming_;
    events_.at(next->when, Phase::arrival, [this, source, arrival = *next] {
      --coming_;
      arrive(source, arrival);
    });
  }

  /// Nothing happens any more when nobody waits and nobody comes.
  void fail(const Fault& fault) {
    if (coming_ == 0 &&
        std::ranges::count(run_.records, Outcome::in_flight, &RequestRecord::outcome) == 0)
      return;
    ++run_.counts.failures;
    run_.counts.cut_restarts += replicas_[fault.replica]->up() ? 0 : 1;
    replicas_[fault.replica]->fail(fault.restart);
  }

  /// What a client knows of its request.
  struct Attempt {
    std::int64_t left = 0;      ///< Attempts that it may still make.
    std::int64_t number = 0;    ///< Of the one under way, or the last one.
    bool failed = false;        ///< That one has, and another follows if the request has not ended.
    std::int64_t rerouted = 0;  ///< Times that the request was sent to another replica.
    TimePoint sent{};
    SlowSequencePtr sequence = {};
  };

  Scenario& scenario_;
  std::int64_t coming_ = 0;                  ///< Arrivals expected.
  std::vector<Attempt> attempts_;            ///< By request.
  std::map<std::uint32_t, double> budgets_;  ///< By class.
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
