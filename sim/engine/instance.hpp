#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hwmodels/step_cost.hpp"
#include "sim/engine/decode_batch.hpp"
#include "sim/engine/engine_config.hpp"
#include "sim/engine/instance_stats.hpp"
#include "sim/engine/kv_pool.hpp"
#include "sim/engine/memory_plan.hpp"
#include "sim/engine/request_log.hpp"
#include "sim/engine/token_gaps.hpp"
#include "sim/kernel/simulation.hpp"

namespace tokenline {

/// One engine replica: waiting queue, running sequences, KV pool and step loop. A step costs
/// O(1 + requests that enter or leave the batch in it); between events of others the loop runs
/// without touching the event set.
class Instance final : private SchedulerView {
 public:
  /// All references must outlive the instance.
  struct Wiring {
    Simulation& simulation;
    RequestLog& log;
    InstanceListener& listener;
    const EngineConfig& config;
    const hw::StepCost& cost;
    const MemoryPlan& memory;
    std::unique_ptr<Scheduler> scheduler;
    Duration restart_delay;
    std::uint32_t index;
  };
  explicit Instance(Wiring wiring);
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  /// A request arrives now.
  void enqueue(std::uint32_t request);

  /// Requests sent here that have not ended.
  [[nodiscard]] std::int64_t outstanding() const { return outstanding_; }
  [[nodiscard]] bool up() const { return !down_; }
  /// Counters up to the end of the step or restart under way, or up to now without one.
  [[nodiscard]] InstanceStats stats() const;
  [[nodiscard]] const KvPool& pool() const { return pool_; }
  /// Sequences in the batch, and requests in the queue.
  [[nodiscard]] std::int64_t running() const override {
    return running_count_ + static_cast<std::int64_t>(held_.size());
  }
  [[nodiscard]] std::int64_t queue_length() const {
    return static_cast<std::int64_t>(waiting_.size());
  }

 private:
  /// The parts of a step that every decoding sequence shares.
  struct DecodeShare {
    Duration floor{};
    Duration stretched{};
    Duration stalled{};
  };
  struct PrefillPiece {
    SequenceId id = no_sequence;
    hw::Chunk chunk;
    bool last = false;  ///< Completes the prefill: a token is sampled.
  };

  // SchedulerView
  [[nodiscard]] std::int64_t decoding() const override { return batch_.size(); }
  [[nodiscard]] std::int64_t decode_growth() const override { return batch_.growth(); }
  [[nodiscard]] std::int64_t free_blocks() const override { return pool_.free(); }
  [[nodiscard]] std::optional<PartialPrefill> partial() const override;
  [[nodiscard]] std::int64_t waiting() const override { return visible_; }
  [[nodiscard]] std::int64_t waiting_tokens(std::int64_t i) const override {
    return store_[waiting_[static_cast<std::size_t>(i)]].prefill_tokens;
  }
  [[nodiscard]] std::int64_t waiting_cached_tokens(std::int64_t i,
                                                   std::int64_t taken) const override {
    const SequenceId id = waiting_[static_cast<std::size_t>(i)];
    return store_[id].preempted ? pool_.kept(id, taken) * limits_.block_size : 0;
  }
  [[nodiscard]] std::int64_t waiting_final_tokens(std::int64_t i) const override {
    return final_tokens(store_[waiting_[static_cast<std::size_t>(i)]]);
  }
  [[nodiscard]] std::int64_t blocks_to_come() const override {
    return final_blocks_ - (pool_.used() - held_blocks_);
  }
  [[nodiscard]] RunningView running_from_back(std::int64_t i) const override;

  // instance.cpp: the loop
  void wake();
  void run_steps();
  bool start_step();
  void look_at_queue();
  void after_step();
  void finish_step();
  void deliver_prefills();
  void recover();
  void crash();

  // instance_batch.cpp: sequences in and out of the batch
  void apply_plan();
  void preempt_last();
  void release_preempted(SequenceId id);
  void admit(std::int64_t tokens);
  void add_piece(SequenceId id, std::int64_t tokens);
  void emit_token(SequenceId id);
  void complete(SequenceId id);
  void release_held();
  void remove_running(SequenceId id);

  // instance_ledger.cpp: prices and where the time goes
  void price_step();
  void charge_unseen(Duration step);
  [[nodiscard]] DecodeShare split_decode(Duration gpu) const;
  void charge_prefills(Duration gpu, Duration host);
  void count_step(const hw::Price& full, Duration gpu, Duration host);
  [[nodiscard]] Duration gpu_time(const hw::StepShape& shape) const;
  [[nodiscard]] hw::StepShape decode_shape() const;
  void begin_waiting(Sequence& sequence);
  void end_waiting(Sequence& sequence);
  void begin_decoding(Sequence& sequence);
  void end_decoding(Sequence& sequence);
  [[nodiscard]] Bytes step_activations() const;
  [[nodiscard]] RequestRecord& record(const Sequence& sequence) {
    return log_.records[sequence.request];
  }
  [[nodiscard]] std::int64_t final_tokens(const Sequence& sequence) const {
    const RequestRecord& request = log_.records[sequence.request];
    return request.prompt_tokens + request.output_tokens;
  }

  Simulation& simulation_;
  RequestLog& log_;
  InstanceListener& listener_;
  const EngineConfig& config_;
  const hw::StepCost& cost_;
  const MemoryPlan& memory_;
  std::unique_ptr<Scheduler> scheduler_;
  Duration restart_delay_;
  std::uint32_t index_;

  SequenceStore store_;
  KvPool pool_;
  DecodeBatch batch_;
  TokenGaps gaps_;
  std::deque<SequenceId> waiting_;
  /// The first so many of `waiting_` are there for the scheduler: before a decision those that it
  /// sees, after it those that the next one will see at least.
  std::int64_t visible_ = 0;
  SequenceList<&Sequence::running> running_;
  std::int64_t running_count_ = 0;
  SequenceId partial_ = no_sequence;  ///< The sequence whose prefill is not complete, if any.
  std::vector<SequenceId> held_;      ///< Finished, kept until the batch has finished.
  std::int64_t held_stored_ = 0;
  std::int64_t held_blocks_ = 0;
  std::int64_t final_blocks_ = 0;  ///< Blocks that hold prompts and answers of the running ones.
  std::int64_t prefilling_stored_ = 0;  ///< Tokens in KV of sequences not decoding and not held.
  std::uint64_t next_order_ = 0;
  std::int64_t outstanding_ = 0;

  // The step under way.
  bool stepping_ = false;
  bool decision_pending_ = false;
  bool down_ = false;
  TimePoint boundary_{};  ///< End of the step under way, or of the last one; end of a restart.
  StepPlan plan_;
  std::vector<PrefillPiece> pieces_;
  std::int64_t first_admissions_ = 0;  ///< Requests that run for the first time in this step.
  std::vector<hw::Chunk> chunks_;
  TimePoint last_decode_{};  ///< When the decode batch last emitted tokens.

  // Prefix sums, as of boundary_.
  std::array<Duration, 4> waited_{};   ///< By Blocked.
  std::array<Duration, 4> decoded_{};  ///< Host gap, floor, stretched, stalled.

  InstanceStats stats_;
};

}  // namespace tokenline
