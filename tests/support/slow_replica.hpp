#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/engine/scenario.hpp"
#include "sim/kernel/simulation.hpp"
#include "tests/support/slow_engine.hpp"
#include "tests/support/slow_pool.hpp"
#include "tests/support/slow_tiers.hpp"

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
  std::int64_t scheduled = 0;    ///< Of its prefill: stored, or in a step under way.
  std::int64_t prefill = 0;      ///< Tokens that its prefill stores.
  std::int64_t thrown_away = 0;  ///< Most tokens it had stored when it was preempted,
  std::int64_t given_up = 0;     ///< and those of the last time.
  TimePoint joined{};            ///< The queue.
  std::int64_t came = 0;         ///< Requests that joined this queue before it.
  bool seen = false;             ///< A decision finds it in the queue.
  bool early = false;            ///< It was there when the last step started.
  bool preempted = false;        ///< Waits to be admitted again.
  std::int64_t found = 0;        ///< Tokens that it found when it was admitted, or loaded.
  bool there = false;            ///< What it loads is,
  TimePoint landed{};            ///< since then,
  bool loaded = false;           ///< and it waits to be admitted with that.
  std::uint64_t order = 0;       ///< Admissions before it.
  TimePoint accounted{};         ///< Up to when the time of its prefill is charged.
  bool abandoned = false;        ///< Its client has given it up,
  bool aborted = false;          ///< and the replica knows.
  std::int64_t abandonment = 0;  ///< The how manieth it was here.
  bool starved = false;          ///< A decision since its last piece gave it no tokens.
  std::optional<TimePoint> last_token;

  [[nodiscard]] bool prefilling() const { return stored < prefill; }
  [[nodiscard]] bool partial() const { return scheduled < prefill; }
  [[nodiscard]] bool under_way() const { return stored < scheduled; }
  [[nodiscard]] bool finished() const { return emitted == output; }
};
using SlowSequencePtr = std::shared_ptr<SlowSequence>;

/// The work of one step.
struct SlowStep {
  struct Piece {
    SlowSequencePtr sequence;
    std::int64_t tokens = 0;
    std::int64_t past = 0;
    bool last = false;
    [[nodiscard]] hw::Chunk chunk() const { return {tokens, past}; }
  };
  std::vector<SlowSequencePtr> decodes;  ///< Advance by a token, in order of admission.
  std::vector<SlowSequencePtr> held;     ///< Finished, still a row.
  std::vector<Piece> pieces;             ///< In order of admission.
  std::int64_t drafts = 0;               ///< Of each sequence that decodes.
  std::int64_t preemptions = 0;
  std::int64_t newcomers = 0;            ///< Admitted for the first time.
  std::int64_t loads = 0;                ///< Requests that begin to load.
  std::vector<SlowSequencePtr> trimmed;  ///< Give back what blocks they do not need yet.
  Blocked blocked = Blocked::nothing;

  double slowdown = 1.0;
  TimePoint start{};
  TimePoint end{};
  Duration host{};
  Duration gpu{};               ///< Of all stages.
  Duration waiting{};           ///< For stages busy with other steps.
  std::int64_t copied_out = 0;  ///< Blocks that go to host memory before it computes,
  std::int64_t copied_in = 0;   ///< and that come back.
  Duration copying{};
};

/// Sequences that share their steps.
struct SlowBatch {
  std::vector<SlowSequencePtr> running;  ///< In order of admission.
  std::optional<SlowStep> step;          ///< Under way.
  TimePoint ended{};                     ///< When its last step did.
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
    std::function<void(std::uint32_t, Outcome)> crashed;
  };

  SlowReplica(World& world, std::uint32_t index);

  /// A request comes from the router.
  SlowSequencePtr enqueue(std::uint32_t request);
  /// Its client has given it up; with `abort` the replica is told.
  void abandon(const SlowSequencePtr& sequence, bool abort);
  /// Something kills it.
  void fail(Duration restart) { crash(restart, Outcome::lost_crash); }
  [[nodiscard]] bool up() const { return up_; }
  /// Requests sent here that have not ended.
  [[nodiscard]] std::int64_t outstanding() const;
  /// What a router sees of it.
  [[nodiscard]] ReplicaView view() const;
  /// Tokens of the prompt of a request that is to be routed which are in its pool.
  [[nodiscard]] std::int64_t cached_tokens(std::uint32_t request) const;

 private:
  // slow_scheduling.cpp: who computes what.
  SlowStep schedule();
  void schedule_here(SlowStep& step);
  void schedule_swapped(SlowStep& step);
  void schedule_static(SlowStep& step);
  void schedule_prefill_first(SlowStep& step);
  void schedule_orca(SlowStep& step);
  void schedule_chunked(SlowStep& step);
  void schedule_guaranteed_no_evict(SlowStep& step);
  void schedule_prefill_first_chunked(SlowStep& step);
  [[nodiscard]] std::int64_t promised(double share) const;
  void walk_running(std::int64_t& budget, SlowStep& step);
  void walk_decodes(SlowStep& step);
  SlowSequencePtr preempt_last(SlowStep& step);
  void find_again(SlowSequence& sequence, const std::vector<std::int64_t>& blocks);
  void begin_prefill(const SlowSequencePtr& next, std::int64_t tokens, SlowStep& step);
  void admit(std::int64_t budget, bool in_part, SlowStep& step,
             std::optional<std::int64_t> room_to_the_end = {});
  void take(const SlowSequencePtr& sequence, std::int64_t tokens, SlowStep& step);
  [[nodiscard]] SlowSequencePtr find_partial() const;
  [[nodiscard]] std::int64_t slots() const;
  [[nodiscard]] SlowBatch* bring_partial_here(const SlowSequencePtr& partial);

  // slow_queue.cpp: who is next.
  void sort_queue();
  using QueuePlace = std::deque<SlowSequencePtr>::iterator;
  void sort_fairly(QueuePlace first, QueuePlace last) const;
  [[nodiscard]] std::pair<std::int64_t, double> rank(const SlowSequence& sequence) const;
  [[nodiscard]] std::uint32_t class_of(const SlowSequence& sequence) const;
  void see(SlowSequence& sequence);
  void leave_queue(const SlowSequence& sequence);

  // slow_replica.cpp: when steps start, what comes out.
  [[nodiscard]] SlowText text_of(std::uint32_t request, std::int64_t attempt) const;
  [[nodiscard]] SlowText delivered_text_of(std::uint32_t request, std::int64_t attempt) const;
  void expect();
  void decide();
  bool start_one();
  bool start(SlowBatch& batch);
  void look();
  void finish();
  void store_and_emit(const SlowStep& step);
  void emit(SlowSequence& sequence);
  void drop_finished(SlowBatch& batch);
  void crash(Duration restart, Outcome loss);
  void restart();
  [[nodiscard]] bool nothing_runs() const;

  // slow_offload.cpp: KV behind the pool.
  void keep(const SlowSequence& sequence);
  [[nodiscard]] SlowTiers::Names find_further(const SlowSequence& sequence, std::int64_t blocks);
  void begin_load(const SlowSequencePtr& next, const SlowTiers::Names& further, SlowStep& step);
  void put_first(const SlowSequencePtr& sequence);
  void look_at_loaded();

  // slow_aborts.cpp: who leaves before the end.
  void let_go_of_aborted();
  [[nodiscard]] bool may_go(const SlowBatch& batch, const SlowSequence& sequence) const;

  // slow_prices.cpp: what steps take.
  [[nodiscard]] hw::StepShape decode_shape(const SlowStep& step) const;
  [[nodiscard]] Duration price(const hw::StepShape& shape, const SlowStep& step) const;
  [[nodiscard]] Duration stage_price(std::size_t stage, const hw::StepShape& shape,
                                     const SlowStep& step) const;
  [[nodiscard]] Duration price_of_decodes(const SlowStep& step) const;
  [[nodiscard]] Duration price_of_mean_decode(const SlowStep& step) const;
  [[nodiscard]] bool fits(const SlowStep& step) const;
  void launch(SlowStep& step);

  // slow_ledger.cpp: where time goes.
  void charge_waiting();
  void charge_pause();
  void charge_pieces(const SlowStep& step);
  void charge_decodes(const SlowBatch& batch);
  void charge(const SlowSequence& sequence, Part part, Duration time);
  void charge_gap(SlowSequence& sequence);

  World& world_;
  std::uint32_t index_;
  SchedulerLimits limits_;
  SlowPool pool_;
  std::optional<Speculator> speculator_;
  std::int64_t ahead_ = 0;  ///< Draft tokens that may need blocks behind a request's last one.
  std::deque<SlowSequencePtr> waiting_;
  std::optional<SlowTiers> tiers_;
  std::vector<SlowSequencePtr> loading_;  ///< In the order in which they began.
  std::deque<SlowSequencePtr> swapped_;   ///< Their KV is in host memory.
  std::int64_t host_used_ = 0;            ///< Blocks of it.
  std::vector<SlowBatch> batches_;
  std::vector<std::size_t> in_pipeline_;  ///< Batches with a step, in order of its start.
  std::vector<std::size_t> ready_;        ///< The others, in order of when they became so.
  std::size_t here_ = 0;                  ///< The batch decided about.
  std::optional<TimePoint> decide_at_;
  TimePoint host_free_{};
  std::vector<TimePoint> stage_free_;
  TimePoint decided_{};                 ///< Last decision.
  Blocked blocked_ = Blocked::nothing;  ///< What the queue has waited for since.
  bool up_ = true;
  int life_ = 0;  ///< Crashes so far: what was to happen before them does not.
  std::uint64_t admissions_ = 0;
  std::int64_t arrivals_ = 0;
  std::int64_t abandonments_ = 0;
  std::map<std::uint32_t, std::int64_t> service_;  ///< By class: prompt + 2 · output tokens.
  std::optional<std::uint32_t> last_left_;         ///< The class last admitted for the first time.
  std::int64_t prefilled_ = 0;                     ///< Tokens of all steps that started,
  Duration prefilling_{};                          ///< and what those took that had any.
  int decodes_since_calm_ = 0;  ///< Decode steps since the replica was idle or preempted.
};

}  // namespace tokenline::test
