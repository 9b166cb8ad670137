#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hwmodels/step_cost.hpp"
#include "sim/base/time.hpp"
#include "sim/policies/scheduler/scheduler.hpp"

namespace tokenline {

/// A piece of a prompt in an observed step.
struct ObservedPiece {
  std::uint32_t request = 0;
  hw::Chunk chunk;
  Duration alone{};       ///< GPU time of a step of this piece alone, at most that of the step.
  bool last = false;      ///< Completes its prompt: a token is emitted.
  bool repeated = false;  ///< Begins with tokens that a preemption took: `recomputed`.
  bool in_vain = false;   ///< Its client has given this attempt up.
};

/// A step that an instance has decided on, until it ends or a crash cuts it short.
struct ObservedStep {
  std::uint32_t instance = 0;
  std::uint32_t micro_batch = 0;  ///< 0 without a pipeline.
  TimePoint begin{};              ///< When it was decided.
  TimePoint end{};                ///< begin + host + swapping + gpu + waiting.
  Duration host{};
  Duration swapping{};                ///< Blocks are copied to and from host memory.
  Duration gpu{};                     ///< Of all pipeline stages together.
  Duration waiting{};                 ///< In the pipeline.
  Duration decode{};                  ///< Of `gpu`, what its decodes take without the pieces.
  Duration decode_floor{};            ///< Of `decode`, what one of them takes alone.
  std::int64_t decode_sequences = 0;  ///< Those that a static batch keeps included.
  std::int64_t decode_context = 0;    ///< Sum of their tokens in KV, the new ones included.
  std::span<const ObservedPiece> pieces;
  std::int64_t running = 0;  ///< Sequences in all batches of the instance.
  std::int64_t waiting_requests = 0;
  Blocked blocked = Blocked::nothing;  ///< What the head of the queue waits for.
  std::int64_t kv_used_blocks = 0;
  Flops flops;  ///< Of one GPU, the mean of the stages, as the bytes.
  Bytes hbm_bytes;
};

/// What becomes of a request in an instance. Nothing follows given_up but what the client does
/// next.
enum class SequenceEvent : std::uint8_t {
  queued,       ///< Came into the queue.
  admitted,     ///< In the batch now, also after a preemption.
  preempted,    ///< Back in the queue, its KV given up.
  swapped_out,  ///< Preempted, its KV in host memory.
  swapped_in,   ///< In the batch again, decoding.
  loading,      ///< Left the queue until KV that a tier keeps is here.
  loaded,       ///< It is here: in the queue again, before all others.
  first_token,  ///< Its prompt is computed, and its first token emitted.
  handed_over,  ///< Computed; another instance decodes it when its KV has come.
  landed,       ///< Its KV has come to the instance that decodes it.
  finished,     ///< Emitted its last token.
  given_up,     ///< Its client has gone; what the instance still does for it is in vain.
  lost,         ///< Its instance has crashed.
};

/// What of a request happens when, and where.
struct ObservedEvent {
  SequenceEvent event = SequenceEvent::queued;
  std::uint32_t request = 0;
  std::uint32_t instance = 0;
  TimePoint when{};
  Duration queue{};  ///< Of loading: behind the reads of others.
};

/// Told of everything that instances do, as it happens; changes nothing. The times of one instance
/// never decrease.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  /// A step begins. The span of its pieces is valid during the call.
  virtual void step(const ObservedStep& step) = 0;
  virtual void sequence(const ObservedEvent& event) = 0;
  /// A decision begins. Since the one before, requests in the queue that it knew of have waited for
  /// `waited`.
  virtual void decides(std::uint32_t /*instance*/, TimePoint /*when*/, Blocked /*waited*/) {}
  /// The instance crashes at `from`, which ends its steps, and is to serve again at `until`; a
  /// second crash while it is down replaces `until`.
  virtual void down(std::uint32_t instance, TimePoint from, TimePoint until) = 0;
};

/// Several observers as one.
class RunObservers final : public RunObserver {
 public:
  /// It must outlive the run.
  void add(RunObserver& observer) { all_.push_back(&observer); }
  /// This for run(), or null without any.
  [[nodiscard]] RunObserver* if_any() { return all_.empty() ? nullptr : this; }

  void step(const ObservedStep& step) override {
    for (RunObserver* one : all_) one->step(step);
  }
  void sequence(const ObservedEvent& event) override {
    for (RunObserver* one : all_) one->sequence(event);
  }
  void decides(std::uint32_t instance, TimePoint when, Blocked waited) override {
    for (RunObserver* one : all_) one->decides(instance, when, waited);
  }
  void down(std::uint32_t instance, TimePoint from, TimePoint until) override {
    for (RunObserver* one : all_) one->down(instance, from, until);
  }

 private:
  std::vector<RunObserver*> all_;
};

}  // namespace tokenline
