#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "sim/engine/sequence.hpp"

namespace tokenline {

/// The queue of an instance, in the order in which requests are admitted.
class WaitingQueue {
 public:
  explicit WaitingQueue(const SequenceStore& store) : store_(store) {}

  [[nodiscard]] bool empty() const { return line_.empty(); }
  [[nodiscard]] std::size_t size() const { return line_.size(); }
  [[nodiscard]] SequenceId operator[](std::size_t i) const { return line_[i]; }
  [[nodiscard]] SequenceId front() const { return line_.front(); }
  /// Tokens that the requests in it have to prefill.
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }

  /// A request that comes, or comes back after a preemption and goes first.
  void push_back(SequenceId id) {
    line_.push_back(id);
    tokens_ += store_[id].prefill_tokens;
  }
  void push_front(SequenceId id) {
    line_.push_front(id);
    tokens_ += store_[id].prefill_tokens;
  }
  void pop_front() {
    tokens_ -= store_[line_.front()].prefill_tokens;
    line_.pop_front();
  }
  void clear() {
    line_.clear();
    tokens_ = 0;
  }

 private:
  const SequenceStore& store_;
  std::deque<SequenceId> line_;
  std::int64_t tokens_ = 0;
};

}  // namespace tokenline
