// The order of the slow engine's queue.
#include <algorithm>
#include <boost/random/lognormal_distribution.hpp>
#include <tuple>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/base/random.hpp"
#include "tests/support/slow_replica.hpp"

namespace tokenline::test {
namespace {

/// A request that neither was preempted nor is hidden from the decision.
bool in_order(const SlowSequencePtr& s) { return s->seen && !s->preempted && !s->loaded; }

}  // namespace

std::uint32_t SlowReplica::class_of(const SlowSequence& sequence) const {
  return world_.run.records[sequence.request].class_index;
}

/// What the queue is sorted by, but for fair_share.
std::pair<std::int64_t, double> SlowReplica::rank(const SlowSequence& sequence) const {
  const RequestRecord& record = world_.run.records[sequence.request];
  const traffic::RequestClass& its = world_.scenario.traffic.classes[record.class_index];
  const EngineConfig& engine = world_.scenario.engine;
  if (engine.queue_policy == "priority") return {its.priority, 0.0};
  if (engine.queue_policy == "earliest_deadline") {
    const TimePoint deadline = its.slo.ttft ? record.arrival + *its.slo.ttft : TimePoint::max();
    return {deadline.time_since_epoch().count(), 0.0};
  }
  TOKENLINE_CHECK(engine.queue_policy == "shortest_job_first",
                  "the slow engine knows no queue policy '{}'", engine.queue_policy);
  RandomStream random(world_.scenario.seed, its.name + "/length_prediction", record.class_number);
  double error = 1.0;
  if (engine.length_prediction_sigma > 0.0)
    error =
        boost::random::lognormal_distribution<double>(0.0, engine.length_prediction_sigma)(random);
  return {0, static_cast<double>(sequence.output) * error};
}

/// Sorts the requests that the decision knows of and that were never admitted.
void SlowReplica::sort_queue() {
  const std::string& policy = world_.scenario.engine.queue_policy;
  if (policy == "fcfs") return;
  const auto first = std::find_if(waiting_.begin(), waiting_.end(), in_order);
  const auto last = std::find_if_not(first, waiting_.end(), in_order);
  if (policy == "fair_share")
    sort_fairly(first, last);
  else
    std::sort(first, last, [this](const auto& a, const auto& b) {
      return std::tuple(rank(*a), a->request, a->came) < std::tuple(rank(*b), b->request, b->came);
    });
  const auto by_arrival = [](const auto& a, const auto& b) { return a->request < b->request; };
  if (!std::is_sorted(first, last, by_arrival)) ++world_.run.counts.reordered;
}

/// Again and again the request that came first of the class that was given least.
void SlowReplica::sort_fairly(QueuePlace first, QueuePlace last) const {
  std::map<std::uint32_t, std::int64_t> given = service_;
  for (; first != last; ++first) {
    std::map<std::uint32_t, QueuePlace> oldest;
    for (auto other = first; other != last; ++other) {
      const auto [its, added] = oldest.emplace(class_of(**other), other);
      if (!added && (*other)->came < (*its->second)->came) its->second = other;
    }
    const auto next = std::ranges::min_element(oldest, {}, [&](const auto& of_class) {
      return std::pair(given[of_class.first], (*of_class.second)->request);
    });
    const QueuePlace place = next->second;
    given[next->first] += (*place)->prompt;
    std::rotate(first, place, place + 1);
  }
}

/// A decision knows of a request from now on. Under fair_share a class that had none in the queue
/// does not keep what it did not ask for.
void SlowReplica::see(SlowSequence& sequence) {
  if (sequence.seen) return;
  const std::uint32_t its = class_of(sequence);
  std::optional<std::int64_t> least;
  bool alone = true;
  for (const auto& other : waiting_) {
    if (!in_order(other)) continue;
    if (class_of(*other) == its) alone = false;
    const std::int64_t given = service_[class_of(*other)];
    least = std::min(least.value_or(given), given);
  }
  if (!least && last_left_) least = service_[*last_left_];
  if (alone && least) service_[its] = std::max(service_[its], *least);
  sequence.seen = true;
}

/// A request runs for the first time.
void SlowReplica::leave_queue(const SlowSequence& sequence) {
  service_[class_of(sequence)] += sequence.prompt;
  last_left_ = class_of(sequence);
}

}  // namespace tokenline::test
