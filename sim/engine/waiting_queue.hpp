#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "sim/engine/request_log.hpp"
#include "sim/engine/sequence.hpp"
#include "sim/policies/queue/queue.hpp"

namespace tokenline {

/// The queue of an instance: preempted requests, the last one first; then those that the scheduler
/// knows of, in the order of the queue policy; then the others, as they came.
class WaitingQueue {
 public:
  /// `order` is null for the order in which requests come.
  WaitingQueue(const SequenceStore& store, const RequestLog& log,
               std::unique_ptr<RequestQueue> order, std::size_t micro_batches);

  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] std::size_t size() const { return line_.size() + ordered_; }
  [[nodiscard]] SequenceId operator[](std::size_t i) const {
    if (ordered_ == 0 || i < preempted_) return line_[i];
    return i < preempted_ + ordered_ ? order_->at(i - preempted_) : line_[i - ordered_];
  }
  /// Tokens that the requests in it have to prefill.
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }

  /// A request comes; the scheduler does not know of it yet.
  void push_back(SequenceId id) {
    line_.push_back(id);
    tokens_ += store_[id].prefill_tokens;
  }
  /// A request comes back after a preemption, or with KV that it has loaded: behind the first
  /// `behind` ones, which did so too.
  void put_first(SequenceId id, std::size_t behind) {
    line_.insert(line_.begin() + static_cast<std::ptrdiff_t>(behind), id);
    ++preempted_;
    tokens_ += store_[id].prefill_tokens;
  }
  /// The scheduler knows of the first `count` from now on.
  void show(std::size_t count) {
    if (order_ != nullptr) put_in_order(count);
  }
  /// Takes out the first one.
  SequenceId pop_front() {
    SequenceId id = no_sequence;
    if (preempted_ > 0 || ordered_ == 0) {
      id = line_.front();
      line_.pop_front();
      preempted_ -= preempted_ > 0 ? 1 : 0;
    } else {
      id = order_->at(0);
      order_->pop();
      --ordered_;
    }
    tokens_ -= store_[id].prefill_tokens;
    return id;
  }
  /// Takes out one that gives up, and says where it stood. O(n).
  std::size_t remove(SequenceId id);
  /// All is lost in a crash, what runs included.
  void clear();

  // What its policy is told of running requests, where it counts that.
  /// A prefill, or drafts that were accepted, gave a request tokens; it decodes from now on, or no
  /// longer; a decode step of a micro-batch gave each one of it a token.
  void emitted(const Sequence& sequence, std::int64_t tokens) {
    if (counts_service_ && tokens > 0) order_->served(sequence.class_index, tokens);
  }
  void decoding(const Sequence& sequence) {
    if (counts_service_) ++decoding_[sequence.micro_batch][sequence.class_index];
  }
  void not_decoding(const Sequence& sequence) {
    if (counts_service_) --decoding_[sequence.micro_batch][sequence.class_index];
  }
  void decoded(std::uint32_t micro_batch) {
    if (counts_service_) serve(micro_batch);
  }

 private:
  void put_in_order(std::size_t count);
  void serve(std::uint32_t micro_batch);

  const SequenceStore& store_;
  const RequestLog& log_;
  std::unique_ptr<RequestQueue> order_;
  std::deque<SequenceId> line_;  ///< All but those that `order_` holds.
  std::size_t preempted_ = 0;    ///< The first so many of `line_`; `order_` comes behind them.
  std::size_t ordered_ = 0;      ///< Held by `order_`.
  std::int64_t tokens_ = 0;
  bool counts_service_ = false;
  std::vector<std::vector<std::int64_t>> decoding_;  ///< By micro-batch and class.
};

}  // namespace tokenline
