#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tokenline {

/// What the head of the waiting queue waits for. Nothing behind it is admitted before it, so
/// everything behind it waits for the same thing.
enum class Blocked : std::uint8_t { nothing, sequence_slot, kv_blocks, token_budget };

/// Limits a scheduler keeps, under the engines' names.
struct SchedulerLimits {
  std::int64_t max_num_seqs = 0;
  std::int64_t max_num_batched_tokens = 0;
  std::int64_t block_size = 0;        ///< Tokens per KV block.
  std::int64_t watermark_blocks = 0;  ///< Free blocks that an admission must leave.

  /// Blocks that hold `tokens` tokens.
  [[nodiscard]] std::int64_t blocks(std::int64_t tokens) const {
    return (tokens + block_size - 1) / block_size;
  }
};

/// The one sequence whose prompt is computed in part; always the last of the running list.
struct PartialPrefill {
  std::int64_t done = 0;
  std::int64_t remaining = 0;
  bool under_way = false;  ///< A piece of it is in the pipeline: it cannot be preempted.
};

/// A running sequence as a candidate for preemption.
struct RunningView {
  std::int64_t blocks = 0;  ///< Blocks it would give back.
  std::int64_t growth = 0;  ///< New blocks that its next decode step needs.
};

/// What a scheduler sees at a step boundary; counts are O(1) for the engine to give. Valid only
/// during the call. With a pipeline a decision is about one micro-batch: the sequences are its own,
/// the blocks and the queue those of the replica.
class SchedulerView {
 public:
  virtual ~SchedulerView() = default;

  [[nodiscard]] const SchedulerLimits& limits() const { return limits_; }
  /// Sequences that hold a slot: decoding, partly prefilled, or finished and held.
  [[nodiscard]] virtual std::int64_t running() const = 0;
  /// The same of the other micro-batches of a pipeline.
  [[nodiscard]] virtual std::int64_t running_elsewhere() const = 0;
  [[nodiscard]] virtual std::int64_t decoding() const = 0;
  /// Tokens of a sequence that a decode step computes: more than one where drafts are verified.
  [[nodiscard]] virtual std::int64_t tokens_per_decode() const = 0;
  /// Blocks needed for every decoding sequence to take part in a decode step.
  [[nodiscard]] virtual std::int64_t decode_growth() const = 0;
  [[nodiscard]] virtual std::int64_t free_blocks() const = 0;
  [[nodiscard]] virtual std::optional<PartialPrefill> partial() const = 0;
  /// Requests of the queue that the decision knows of; with `schedule_ahead` not the latest.
  [[nodiscard]] virtual std::int64_t waiting() const = 0;
  /// Tokens to prefill for the i-th waiting request: its prompt, and after a preemption what it had
  /// generated too.
  [[nodiscard]] virtual std::int64_t waiting_tokens(std::int64_t i) const = 0;
  /// Tokens of those that need no prefill when the i-th request is admitted after all before it, as
  /// `plan.admissions` has them: whole blocks from the first on that are in the KV pool when
  /// `taken` free blocks have been handed out, because it stored them before a preemption or
  /// because others begin alike. Fewer than waiting_tokens(i). Asked once in a plan, of one request
  /// after another, and only of those that have a slot and tokens left: what is asked for, the
  /// engine holds.
  [[nodiscard]] virtual std::int64_t waiting_cached_tokens(std::int64_t i,
                                                           std::int64_t taken) const = 0;
  /// Of those tokens' blocks the ones that running sequences hold: no free block is needed for
  /// them. Asked after waiting_cached_tokens(i, …).
  [[nodiscard]] virtual std::int64_t waiting_held_blocks(std::int64_t /*i*/) const { return 0; }
  /// Tokens behind waiting_cached_tokens(i, …) that are in a tier behind the KV pool: they are
  /// loaded before the request is admitted. Asked after that, as it.
  [[nodiscard]] virtual std::int64_t waiting_external_tokens(std::int64_t /*i*/) const { return 0; }
  /// Whether the i-th waiting request has loaded them: it holds blocks for all that it prefills.
  [[nodiscard]] virtual bool waiting_has_blocks(std::int64_t /*i*/) const { return false; }
  /// Tokens of the i-th waiting request when its answer ends: prompt and answer.
  [[nodiscard]] virtual std::int64_t waiting_final_tokens(std::int64_t i) const = 0;
  /// Blocks that the running sequences do not hold yet and will need to hold their prompts and
  /// answers whole.
  [[nodiscard]] virtual std::int64_t blocks_to_come() const = 0;
  /// The running sequence that was admitted last (0), second to last (1), …, without one that is
  /// under way.
  [[nodiscard]] virtual RunningView running_from_back(std::int64_t i) const = 0;

 protected:
  SchedulerView() = default;
  SchedulerView(const SchedulerView&) = default;
  SchedulerView& operator=(const SchedulerView&) = default;
  SchedulerLimits limits_;
};

/// What one step does. Preemptions take effect first, then decodes and the partial prefill, then
/// admissions.
struct StepPlan {
  /// This many sequences lose their blocks, from the back of the running list, and return to the
  /// front of the queue.
  std::int64_t preemptions = 0;
  /// Every sequence still decoding takes part in a decode step.
  bool decode = false;
  /// Tokens of the partial prefill to compute; 0 when there is none or no budget is left.
  std::int64_t partial_tokens = 0;
  /// Tokens of each newly admitted request to compute, from the head of the queue. Only the last
  /// may be less than its whole prefill without what is cached. 0: it takes blocks for all that it
  /// prefills and begins to load what it does not compute; it comes back to the head of the queue.
  std::vector<std::int64_t> admissions;
  /// Why the next request was not admitted; `nothing` when none is left waiting.
  Blocked blocked = Blocked::nothing;

  void clear() {
    preemptions = 0;
    decode = false;
    partial_tokens = 0;
    admissions.clear();
    blocked = Blocked::nothing;
  }
};

/// Decides each step of an engine. Contract: it fills the cleared `plan` and nothing else; it never
/// exceeds a limit or the free blocks; with anything running or waiting, the plan makes progress.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  virtual void plan(const SchedulerView& view, StepPlan& plan) = 0;
  /// Whether a finished sequence keeps its slot, its blocks and its row in the batch until the
  /// whole batch has finished.
  [[nodiscard]] virtual bool holds_finished() const { return false; }
};

/// What of a view remains after preemptions.
struct Room {
  std::int64_t running = 0;
  std::int64_t decoding = 0;
  std::int64_t free_blocks = 0;  ///< After the decodes have taken theirs.
  std::int64_t taken = 0;        ///< Free blocks that decodes and the partial prefill take.
  std::optional<PartialPrefill> partial;
};

/// Preempts from the back until every decoding sequence that is left has blocks for a step. A
/// victim is the new head of the queue, and waits for blocks.
[[nodiscard]] Room make_room_for_decodes(const SchedulerView& view, StepPlan& plan);

/// Tokens of the step that the decodes of `room` take.
[[nodiscard]] inline std::int64_t decode_tokens(const SchedulerView& view, const Room& room) {
  return room.decoding * view.tokens_per_decode();
}

/// Gives the partial prefill what `token_budget` allows, and takes that off it. When the pool
/// cannot hold it, the sequence itself is preempted, for it is the last of the running list, or, if
/// it is under way, waits.
void continue_partial(const SchedulerView& view, Room& room, std::int64_t& token_budget,
                      StepPlan& plan);

/// How requests are admitted.
struct Admission {
  bool in_pieces = false;   ///< A prompt may be computed in pieces.
  bool to_the_end = false;  ///< Blocks for prompt and answer must be free, not for this step alone.
};

/// Admits requests from the head of the queue while slots, `token_budget` and the blocks of `room`
/// last, and notes in `plan.blocked` what stopped it.
void admit(const SchedulerView& view, const Room& room, std::int64_t token_budget,
           Admission admission, StepPlan& plan);

}  // namespace tokenline
