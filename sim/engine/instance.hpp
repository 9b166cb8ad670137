#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hwmodels/replica_cost.hpp"
#include "sim/engine/engine_config.hpp"
#include "sim/engine/faults.hpp"
#include "sim/engine/host_plan.hpp"
#include "sim/engine/instance_stats.hpp"
#include "sim/engine/kv_pool.hpp"
#include "sim/engine/memory_plan.hpp"
#include "sim/engine/micro_batch.hpp"
#include "sim/engine/price_changes.hpp"
#include "sim/engine/request_log.hpp"
#include "sim/engine/run_observer.hpp"
#include "sim/engine/shared_prefixes.hpp"
#include "sim/engine/speculation.hpp"
#include "sim/engine/waiting_queue.hpp"
#include "sim/kernel/simulation.hpp"

namespace tokenline {

/// One engine replica: waiting queue, running sequences in micro-batches, KV pool and step loop. A
/// step costs O(stages + requests that enter or leave the batch in it); between events of others
/// the loop runs without touching the event set.
class Instance final : private SchedulerView {
 public:
  /// All references must outlive the instance.
  struct Wiring {
    Simulation& simulation;
    RequestLog& log;
    InstanceListener& listener;
    const EngineConfig& config;
    const hw::ReplicaCost& cost;
    const std::vector<MemoryPlan>& memory;  ///< By stage.
    const HostPlan& host;
    std::unique_ptr<Scheduler> scheduler;
    const SpeculationConfig* speculation;  ///< Null without.
    const traffic::Traffic* shared;        ///< Null where requests do not begin alike.
    std::uint64_t seed;
    std::unique_ptr<RequestQueue> queue;  ///< Null for the order in which requests come.
    const std::vector<Fault>& faults;
    Duration restart_delay;
    std::uint32_t index;
    /// Computes prompts only; others decode them (instance_handover.cpp).
    bool hands_over = false;
    /// The first token leaves here, not with those of the replica that decodes.
    bool first_token_leaves = true;
    /// Tells of every piece of a prompt that it computes for others.
    bool tells_pieces = false;
    /// Where links have brown-outs: from when on `cost` is another.
    std::span<const PriceChange> price_changes = {};
    RunObserver* observer = nullptr;  ///< Null when nobody looks.
  };
  explicit Instance(Wiring wiring);
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  /// A request arrives now. The sequence that it is here until it completes or is lost.
  SequenceId enqueue(std::uint32_t request);
  /// The client of the sequence has given it up: what it still produces is nobody's, and its record
  /// is written no more. With `abort` the host learns of it, and lets it go before its next
  /// decision, or when the step that it takes part in has ended.
  void abandon(SequenceId id, bool abort);
  /// It crashes now, whatever it does, and serves again after `restart`; if it is down, after that
  /// instead of what is left of its restart. Call between its own events.
  void fail(Duration restart);
  /// Nothing will arrive any more: a replica that failed and has nothing to do stays down.
  void stop_restart();
  /// It was taken out of service, and another one comes in its place: nothing is cached, and no
  /// restart is waited for. It must have no requests.
  void renew();

  /// A request that another replica prefills will decode here: takes blocks for its prompt when it
  /// is its turn, says so, and keeps them until the request has ended.
  SequenceId expect(std::uint32_t request);
  /// The KV of an expected sequence that has its blocks is here: it decodes as soon as it can.
  void land(SequenceId id);
  /// Blocks of a sequence that was handed over, or that is expected, are free again. `lost`: its KV
  /// goes with them, since it has not landed anywhere.
  void forget(SequenceId id, bool lost);

  /// Requests sent here that have not ended.
  [[nodiscard]] std::int64_t outstanding() const { return outstanding_; }
  [[nodiscard]] bool up() const { return !down_; }
  /// What a router may know of it now.
  [[nodiscard]] ReplicaView view() const;
  /// Tokens of the prompt of a request that is to be routed which are here.
  [[nodiscard]] std::int64_t cached_tokens(std::uint32_t request) const {
    return shared_ ? shared_->count_cached(request, log_.records[request]) : 0;
  }
  /// Counters up to the end of the last step or restart under way, or up to now without one.
  [[nodiscard]] InstanceStats stats() const;
  [[nodiscard]] const KvPool& pool() const { return pool_; }
  /// Host memory of preemption_mode: swap; of no blocks without.
  [[nodiscard]] const KvPool& host_pool() const { return host_; }
  /// Preempted requests whose KV is there.
  [[nodiscard]] std::int64_t swapped() const { return static_cast<std::int64_t>(swapped_.size()); }
  /// Requests that load KV from there, or have just done so.
  [[nodiscard]] std::int64_t loading() const { return static_cast<std::int64_t>(loading_.size()); }
  /// What is kept behind the pool; null without kv_offload.
  [[nodiscard]] const KvTiers* tiers() const { return tiers_ ? &*tiers_ : nullptr; }
  /// Null where requests do not begin alike.
  [[nodiscard]] const PrefixCache* cache() const { return shared_ ? &shared_->cache() : nullptr; }
  /// Sequences in all batches, and requests in the queue.
  [[nodiscard]] std::int64_t in_batches() const { return running_count_ + held_count_; }
  [[nodiscard]] std::int64_t queue_length() const {
    return static_cast<std::int64_t>(waiting_.size());
  }
  /// Requests whose KV is to come, or has come and waits for a slot.
  [[nodiscard]] std::int64_t landing() const {
    return static_cast<std::int64_t>(expected_.size() + reserved_.size() + landed_.size());
  }

 private:
  /// The parts of a step that every decoding sequence shares.
  struct DecodeShare {
    Duration floor{};
    Duration stretched{};
    Duration stalled{};
  };
  /// The way of a step through the pipeline.
  struct Passage {
    hw::Price price;  ///< Mean of a stage.
    Duration gpu{};   ///< Of all stages together.
    Duration host{};
    Duration waiting{};  ///< For the host's last step and for busy stages.
    Duration swapping{};
    TimePoint end{};
  };

  /// A request whose KV comes from a tier behind the pool.
  struct Loading {
    SequenceId id = no_sequence;
    Simulation::EventId event{};  ///< When it will be there.
    bool there = false;
  };

  // SchedulerView, of the micro-batch that is decided about
  [[nodiscard]] std::int64_t running() const override {
    return own_slots() + (joins_partial() ? 1 : 0);
  }
  [[nodiscard]] std::int64_t running_elsewhere() const override {
    return in_batches() - own_slots();
  }
  [[nodiscard]] std::int64_t decoding() const override { return here().decoding.size(); }
  [[nodiscard]] std::int64_t tokens_per_decode() const override { return 1 + drafts_; }
  [[nodiscard]] std::int64_t decode_growth() const override {
    return here().decoding.growth(tokens_per_decode());
  }
  [[nodiscard]] std::int64_t free_blocks() const override { return pool_.free(); }
  [[nodiscard]] std::optional<PartialPrefill> partial() const override;
  [[nodiscard]] std::int64_t waiting() const override { return queue_hidden_ ? 0 : visible_; }
  [[nodiscard]] std::int64_t waiting_tokens(std::int64_t i) const override {
    return store_[waiting_[static_cast<std::size_t>(i)]].prefill_tokens;
  }
  [[nodiscard]] std::int64_t waiting_cached_tokens(std::int64_t i,
                                                   std::int64_t taken) const override;
  [[nodiscard]] std::int64_t waiting_held_blocks(std::int64_t i) const override {
    return shared_ ? shared_->held_by_others(waiting_[static_cast<std::size_t>(i)]) : 0;
  }
  [[nodiscard]] std::int64_t waiting_external_tokens(std::int64_t i) const override;
  [[nodiscard]] bool waiting_has_blocks(std::int64_t i) const override;
  [[nodiscard]] std::int64_t waiting_final_tokens(std::int64_t i) const override {
    return final_tokens(store_[waiting_[static_cast<std::size_t>(i)]]);
  }
  [[nodiscard]] std::int64_t blocks_to_come() const override {
    const std::int64_t extra = shared_ ? shared_->cache().extra_references() : 0;
    return final_blocks_ - (pool_.used() + extra - held_blocks_);
  }
  [[nodiscard]] RunningView running_from_back(std::int64_t i) const override;

  // instance.cpp: the loop
  [[nodiscard]] const MicroBatch& here() const { return micro_batches_[deciding_]; }
  [[nodiscard]] MicroBatch& here() { return micro_batches_[deciding_]; }
  void wake();
  void advance();
  void wait_for(TimePoint when, Phase phase);
  void start_steps();
  bool start_any();
  bool start_step(std::uint32_t micro_batch);
  void set_slots();
  void look_at_queue();
  void finish_step(MicroBatch& batch);
  void accept_drafts(MicroBatch& batch);
  void deliver_prefills(MicroBatch& batch);
  void recover();

  // instance_crash.cpp: everything is lost
  void run_out_of_memory();
  void cut_restart();
  void crash(Duration restart, Outcome loss);
  void lose(MicroBatch& batch, std::vector<SequenceId>& lost);
  void lose_given_up(SequenceId id);
  void lose_elsewhere(std::vector<std::uint32_t>& requests);

  // instance_handover.cpp: sequences that come from, or go to, another instance
  void hand_over(SequenceId id);
  void tell_pieces(const Passage& passage);
  void look_at_landed();
  void reserve_expected();
  /// Tokens of a sequence with blocks, but without KV yet, that are here all the same.
  [[nodiscard]] std::int64_t found_here(SequenceId id) const {
    return shared_ ? shared_->found(id) : 0;
  }
  void park(SequenceId id);
  void unpark(SequenceId id);

  // instance_swap.cpp: sequences whose KV waits in host memory
  bool swap_out(SequenceId id);
  void swap_in();
  [[nodiscard]] Duration swap_time();
  void drop_swapped(SequenceId id);

  // instance_offload.cpp: KV that is kept behind the pool
  void offload(SequenceId id, std::int64_t stored);
  void begin_load();
  void end_load(SequenceId id);
  void look_at_loaded();
  void take_over_loaded(Sequence& sequence, std::int64_t tokens);
  void count_found(const Sequence& sequence, SequenceId id);
  void lose_loading(std::vector<std::uint32_t>& requests);

  // instance_abort.cpp: requests whose clients have gone
  void apply_aborts();
  [[nodiscard]] bool in_step(SequenceId id) const;
  void let_go(SequenceId id);
  void leave_queue(SequenceId id);
  void leave_batch(SequenceId id);

  // instance_batch.cpp: sequences in and out of the batch
  [[nodiscard]] std::int64_t own_slots() const {
    return here().running_count + static_cast<std::int64_t>(here().held.size());
  }
  /// Whether the partly prefilled sequence is of another micro-batch; whether this one has a slot
  /// to continue it; whether it would then be the first to be preempted.
  [[nodiscard]] bool partial_elsewhere() const {
    return partial_ != no_sequence && store_[partial_].micro_batch != deciding_;
  }
  [[nodiscard]] bool joins_partial() const {
    return partial_elsewhere() && own_slots() < limits_.max_num_seqs;
  }
  [[nodiscard]] bool partial_goes_first() const {
    return joins_partial() && store_[partial_].under_way == 0;
  }
  void apply_plan();
  void preempt_last();
  void release_preempted(SequenceId id);
  void release_blocks(const Sequence& sequence, SequenceId id);
  [[nodiscard]] std::int64_t find_again(const Sequence& sequence, SequenceId id);
  void continue_partial_here(std::int64_t tokens);
  void admit(std::int64_t tokens);
  void add_piece(SequenceId id, std::int64_t tokens);
  void emit_token(MicroBatch& batch, SequenceId id);
  void complete(MicroBatch& batch, SequenceId id);
  void release_held(MicroBatch& batch);
  void add_running(SequenceId id);
  void remove_running(SequenceId id);

  // instance_ledger.cpp: prices and where the time goes
  void price_step();
  [[nodiscard]] Passage pass(const hw::StepShape& shape, const HostWork& work);
  void settle_queue();
  void settle_pause();
  void settle_partial(Sequence& sequence);
  [[nodiscard]] DecodeShare split_decode(Duration gpu);
  void charge_prefills(const Passage& passage);
  void count_step(const Passage& passage);
  [[nodiscard]] hw::Price stage_price(std::size_t stage, const hw::StepShape& shape) const;
  [[nodiscard]] Duration gpu_time(const hw::StepShape& shape) const;
  [[nodiscard]] Duration decode_floor(std::int64_t context);
  [[nodiscard]] hw::StepShape decode_shape() const;
  void observe_step(const Passage& passage, const DecodeShare& share);
  void observe(SequenceEvent event, const Sequence& sequence, Duration queue = {}) {
    if (observer_ != nullptr && !sequence.abandoned)
      observer_->sequence({event, sequence.request, index_, simulation_.now(), queue});
  }
  void end_waiting(Sequence& sequence);
  void begin_decoding(Sequence& sequence);
  void end_decoding(Sequence& sequence);
  [[nodiscard]] Bytes memory_asked() const;
  [[nodiscard]] RequestRecord& record(const Sequence& sequence) {
    return sequence.abandoned ? nobody_ : log_.records[sequence.request];
  }
  [[nodiscard]] std::int64_t final_tokens(const Sequence& sequence) const {
    const RequestRecord& request = log_.records[sequence.request];
    if (hands_over_) return request.prompt_tokens;
    return request.prompt_tokens + request.output_tokens + lookahead_;
  }

  Simulation& simulation_;
  RequestLog& log_;
  InstanceListener& listener_;
  const EngineConfig& config_;
  const hw::ReplicaCost& cost_;
  const std::vector<MemoryPlan>& memory_;
  std::unique_ptr<Scheduler> scheduler_;
  Bytes reserved_memory_;  ///< HBM in use in any step, but where the pool grows on demand.
  std::optional<Speculator> speculator_;
  std::int64_t lookahead_;  ///< Tokens that a sequence may need blocks for beyond its last.
  const std::vector<Fault>& faults_;
  double slowdown_ = 1.0;  ///< Of the step that starts.
  std::span<const PriceChange> price_changes_;
  const hw::ReplicaCost* prices_;  ///< Of the step that starts.
  Duration restart_delay_;
  std::uint32_t index_;
  bool hands_over_;
  bool first_token_leaves_;
  bool tells_pieces_;
  RunObserver* observer_;
  std::vector<ObservedPiece> observed_pieces_;  ///< Of the step, for the observer.

  SequenceStore store_;
  KvPool pool_;
  const HostPlan& host_plan_;
  KvPool host_;                             ///< Blocks of swapped sequences.
  std::unique_ptr<SharedPrefixes> shared_;  ///< Null where requests do not begin alike.
  std::vector<MicroBatch> micro_batches_;
  WaitingQueue waiting_;
  /// The first so many of `waiting_` are there for the scheduler: before a decision those that it
  /// sees, after it those that the next one will see at least.
  std::int64_t visible_ = 0;
  std::int64_t running_count_ = 0;
  SequenceId partial_ = no_sequence;  ///< The sequence whose prefill is not complete, if any.
  bool partial_starved_ = false;      ///< A step since its last piece had no tokens left for it.
  std::int64_t held_count_ = 0;
  std::int64_t held_blocks_ = 0;   ///< Of sequences that do not run: held, or parked.
  std::int64_t final_blocks_ = 0;  ///< Blocks that hold prompts and answers of the running ones.
  std::int64_t prefilling_stored_ = 0;  ///< Tokens scheduled of sequences not decoding, not held.
  std::uint64_t next_order_ = 0;
  std::int64_t outstanding_ = 0;
  std::vector<SequenceId> aborts_;  ///< To be let go.

  std::deque<SequenceId> swapped_;  ///< The first to be swapped out first.
  bool queue_hidden_ = false;       ///< The decision is about swapped and running sequences alone.
  std::int64_t copied_out_ = 0;     ///< Blocks that the next step copies before it computes.
  std::int64_t copied_in_ = 0;

  std::optional<KvTiers> tiers_;
  std::deque<Loading> loading_;      ///< In the order in which they began.
  std::int64_t loaded_waiting_ = 0;  ///< The first so many of `waiting_` have loaded their KV.
  std::int64_t unused_blocks_ = 0;   ///< Of loaded sequences that the plan under way admits.

  // Between two instances, each in the order in which they came to it.
  std::deque<SequenceId> handed_over_;  ///< Blocks wait until the KV has gone.
  std::deque<SequenceId> expected_;     ///< Wait for blocks.
  std::deque<SequenceId> reserved_;     ///< Have blocks, without KV yet.
  std::deque<SequenceId> landed_;       ///< Wait for a slot.
  std::size_t seen_landed_ = 0;         ///< So many of them a decision has known of.
  std::int64_t parked_stored_ = 0;      ///< Tokens of those, as far as they are here.

  // The loop. It has at most one event in the set.
  std::deque<std::uint32_t> under_way_;  ///< Micro-batches in the pipeline, the first to end first.
  std::vector<std::uint32_t> idle_;      ///< The others, the first to become idle first.
  std::optional<Simulation::EventId> event_;  ///< The one in the set.
  Simulation::EventId recovery_;              ///< While it is down: when that ends.
  std::optional<TimePoint> decide_at_;        ///< The next decision, but for what arrives.
  TimePoint host_free_{};                     ///< When the host has dealt with the last step.
  std::vector<double> layer_shares_;          ///< Of each stage.
  std::vector<TimePoint> stage_free_;         ///< When a stage has computed all steps given to it.
  bool down_ = false;
  TimePoint boundary_{};  ///< End of the last step under way, or of the last one; of a restart.

  // The decision.
  std::uint32_t deciding_ = 0;  ///< Index of the micro-batch.
  StepPlan plan_;
  std::int64_t drafts_ = 0;            ///< Draft tokens of each sequence, if it decodes.
  std::int64_t first_admissions_ = 0;  ///< Requests that run for the first time in this step.
  std::vector<hw::Chunk> chunks_;
  std::vector<Duration> stage_times_;  ///< Of the step.
  /// What decoding one sequence takes, by its context, as far as asked: means of batches repeat.
  /// Of a replica and links that are as fast as ever.
  std::vector<Duration> floors_;

  // Since the last decision.
  TimePoint decided_{};
  Blocked blocked_ = Blocked::nothing;  ///< What the head of the queue waits for.
  std::int64_t known_ = 0;              ///< The first so many of `waiting_` wait for that.
  std::array<Duration, 4> waited_{};    ///< By Blocked: prefix sums, as of the last decision.

  InstanceStats stats_;
  Duration prefill_time_{};  ///< ReplicaView::prefill_time.
  RequestRecord nobody_;     ///< Where it is written what became of requests given up.
};

}  // namespace tokenline
