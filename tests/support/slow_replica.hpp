#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "calib/reference/paged_pool.hpp"
#include "sim/engine/scenario.hpp"
#include "sim/kernel/simulation.hpp"
#include "tests/support/slow_engine.hpp"

namespace tokenline::test {

/// Future events in a sorted list: by time, then phase, then as they were scheduled.
class SlowEvents {
 public:
  [[nodiscard]] TimePoint now() const { return now_; }
  void at(TimePoint when, Phase phase, std::function<void()> action) {
    events_.emplace(std::pair(when, phase), std::move(action));
  }
  void run() {
    while (!events_.empty()) {
      const auto event = events_.extract(events_.begin());
      now_ = event.key().first;
      event.mapped()();
    }
  }

 private:
  std::multimap<std::pair<TimePoint, Phase>, std::function<void()>> events_;
  TimePoint now_{};
};

/// A request in one attempt on one replica.
struct SlowSequence {
  std::uint32_t request = 0;
  std::int64_t prompt = 0;
  std::int64_t output = 0;
  std::int64_t emitted = 0;      ///< Output tokens so far.
  std::int64_t stored = 0;       ///< Tokens in KV.
  std::int64_t prefill = 0;      ///< Tokens that its prefill stores.
  std::int64_t thrown_away = 0;  ///< Most tokens it had stored when it was preempted.
  TimePoint joined{};            ///< The queue.
  bool seen = false;             ///< A decision finds it in the queue.
  bool early = false;            ///< It was there when the last step started.
  bool preempted = false;        ///< Waits to be admitted again.
  std::optional<TimePoint> last_token;

  [[nodiscard]] bool prefilling() const { return stored < prefill; }
  [[nodiscard]] bool finished() const { return emitted == output; }
};
using SlowSequencePtr = std::shared_ptr<SlowSequence>;

/// The work of one step.
struct SlowStep {
  struct Piece {
    SlowSequencePtr sequence;
    std::int64_t tokens = 0;
    [[nodiscard]] hw::Chunk chunk() const { return {tokens, sequence->stored}; }
    [[nodiscard]] bool last() const { return sequence->stored + tokens == sequence->prefill; }
  };
  std::vector<SlowSequencePtr> decodes;  ///< Advance by a token, in order of admission.
  std::vector<SlowSequencePtr> held;     ///< Finished, still a row.
  std::vector<Piece> pieces;             ///< In order of admission.
  std::int64_t preemptions = 0;
  std::int64_t newcomers = 0;  ///< Admitted for the first time.
  Blocked blocked = Blocked::nothing;

  TimePoint start{};
  Duration host{};
  Duration gpu{};
};

/// One replica of the slow engine.
class SlowReplica {
 public:
  /// What all replicas of a run share.
  struct World {
    Scenario& scenario;
    SlowEvents& events;
    SlowRun& run;
    std::function<void(std::uint32_t)> completed;
    std::function<void(std::uint32_t)> crashed;
  };

  SlowReplica(World& world, std::uint32_t index);

  /// A request comes from the router.
  void enqueue(std::uint32_t request);
  [[nodiscard]] bool up() const { return up_; }
  /// Requests sent here that have not ended.
  [[nodiscard]] std::int64_t outstanding() const;

 private:
  // slow_scheduling.cpp: who computes what.
  SlowStep schedule();
  void schedule_static(SlowStep& step);
  void schedule_prefill_first(SlowStep& step);
  void schedule_orca(SlowStep& step);
  void schedule_chunked(SlowStep& step);
  void schedule_guaranteed_no_evict(SlowStep& step);
  void schedule_prefill_first_chunked(SlowStep& step);
  [[nodiscard]] std::int64_t promised(double share) const;
  void walk_running(std::int64_t& budget, SlowStep& step);
  SlowSequencePtr preempt_last(SlowStep& step);
  void find_again(SlowSequence& sequence, std::int64_t tokens);
  void admit(std::int64_t budget, bool in_part, SlowStep& step,
             std::optional<std::int64_t> room_to_the_end = {});

  // slow_replica.cpp: what a step takes, where time goes, what comes out.
  void wake();
  void decide();
  void look();
  [[nodiscard]] hw::Price price(const SlowStep& step) const;
  [[nodiscard]] Duration price_of_decodes(const SlowStep& step) const;
  [[nodiscard]] Duration price_of_mean_decode(const SlowStep& step) const;
  [[nodiscard]] bool fits(const SlowStep& step) const;
  void start(SlowStep step);
  void finish();
  void charge_waiting();
  void charge_pieces();
  void charge_decodes();
  void charge(const SlowSequence& sequence, Part part, Duration time);
  void store_and_emit();
  void emit(SlowSequence& sequence);
  void drop_finished();
  void crash();
  void restart();

  World& world_;
  std::uint32_t index_;
  SchedulerLimits limits_;
  reference::PagedPool pool_;
  std::deque<SlowSequencePtr> waiting_;
  std::vector<SlowSequencePtr> running_;  ///< In order of admission.
  std::optional<SlowStep> step_;          ///< Under way.
  bool deciding_ = false;                 ///< A decision is in the event list.
  bool up_ = true;
  int decodes_since_calm_ = 0;  ///< Decode steps since the replica was idle or preempted.
};

}  // namespace tokenline::test
