#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/base/time.hpp"

namespace tokenline {

/// Index of a sequence in its instance's SequenceStore.
using SequenceId = std::uint32_t;
inline constexpr SequenceId no_sequence = 0xffffffffU;

/// Neighbours in an intrusive list.
struct Links {
  SequenceId previous = no_sequence;
  SequenceId next = no_sequence;
};

/// A request inside an instance. While it decodes, `generated` and `stored` are those of the moment
/// it joined the decode batch; what they are now follows from the batch's step counter.
struct Sequence {
  std::uint32_t request = 0;
  std::uint32_t class_index = 0;
  std::uint32_t micro_batch = 0;
  std::uint32_t under_way = 0;  ///< Pieces of its prompt in the pipeline.
  bool measured = true;
  bool preempted = false;  ///< Waits after a preemption.
  bool abandoned = false;  ///< Its client has given it up.
  bool swapped = false;    ///< Preempted, its KV in host memory.
  bool loaded = false;     ///< Waits with KV that it has loaded.
  std::int64_t output_tokens = 0;
  std::int64_t prefill_tokens = 0;  ///< What its prefill must store: prompt + generated.
  std::int64_t generated = 0;       ///< Tokens emitted.
  std::int64_t stored = 0;          ///< Tokens in KV.
  std::int64_t scheduled = 0;       ///< Of its prefill: stored, or under way.
  std::int64_t thrown_away = 0;  ///< Most tokens a preemption has taken: prefilling them repeats.
  std::int64_t join_step = 0;    ///< The batch's step counter when it joined.
  std::uint64_t order = 0;       ///< Admission number: the order of the running list.
  TimePoint last_token{};        ///< When it emitted its last token outside the decode batch.
  TimePoint since{};             ///< When it came, or was preempted.
  TimePoint accounted{};         ///< Prefilling: up to when its time belongs to parts.
  Links running;
  Links finishing;
  /// Prefix sums of the ledger when it began to wait (the first four), or joined the decode batch.
  std::array<Duration, 6> snapshot{};
};

/// Sequences by id; ids are reused, so memory is bounded by the number at a time.
class SequenceStore {
 public:
  [[nodiscard]] SequenceId create() {
    if (free_.empty()) {
      sequences_.emplace_back();
      return static_cast<SequenceId>(sequences_.size() - 1);
    }
    const SequenceId id = free_.back();
    free_.pop_back();
    sequences_[id] = Sequence{};
    return id;
  }
  void destroy(SequenceId id) { free_.push_back(id); }
  [[nodiscard]] Sequence& operator[](SequenceId id) { return sequences_[id]; }
  [[nodiscard]] const Sequence& operator[](SequenceId id) const { return sequences_[id]; }

 private:
  std::vector<Sequence> sequences_;
  std::vector<SequenceId> free_;
};

/// A doubly linked list through one of the Links of the sequences: push and erase are O(1).
template <Links Sequence::* member>
class SequenceList {
 public:
  [[nodiscard]] bool empty() const { return front_ == no_sequence; }
  [[nodiscard]] SequenceId front() const { return front_; }
  [[nodiscard]] SequenceId back() const { return back_; }

  void push_back(SequenceStore& store, SequenceId id) {
    (store[id].*member) = {.previous = back_, .next = no_sequence};
    if (back_ == no_sequence)
      front_ = id;
    else
      (store[back_].*member).next = id;
    back_ = id;
  }
  void erase(SequenceStore& store, SequenceId id) {
    const Links links = store[id].*member;
    if (links.previous == no_sequence)
      front_ = links.next;
    else
      (store[links.previous].*member).next = links.next;
    if (links.next == no_sequence)
      back_ = links.previous;
    else
      (store[links.next].*member).previous = links.previous;
  }

 private:
  SequenceId front_ = no_sequence;
  SequenceId back_ = no_sequence;
};

}  // namespace tokenline
