#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "sim/base/check.hpp"
#include "sim/engine/prefix_cache.hpp"
#include "sim/engine/sequence.hpp"

namespace tokenline {

/// The KV blocks of one instance, by count: which block a sequence gets never matters, but for
/// those whose contents a preempted sequence may find again. Free blocks form a queue: they are
/// handed out from its head and return to its tail. The pool with block ids, which this one must
/// agree with, is calib/reference/paged_pool. Where requests may begin alike the queue is that of a
/// PrefixCache, and only the counts are here.
class KvPool {
 public:
  explicit KvPool(std::int64_t blocks) : total_(blocks), free_(blocks) {}

  /// The queue is `cache` from now on, which is of the same size and outlives the pool's use.
  void queue_in(PrefixCache& cache) { cache_ = &cache; }

  void allocate(std::int64_t blocks) {
    TOKENLINE_CHECK(blocks >= 0 && blocks <= free_, "{} KV blocks taken of {} free ones", blocks,
                    free_);
    if (!kept_.empty()) overwrite(blocks);
    if (cache_ != nullptr) cache_->hand_out(blocks);
    count_taken(blocks);
  }
  void release(std::int64_t blocks) {
    TOKENLINE_CHECK(blocks >= 0 && blocks <= used(), "{} KV blocks freed of {} used ones", blocks,
                    used());
    if (cache_ != nullptr) cache_->give_back(blocks);
    count_freed(blocks);
  }
  /// Blocks that left the cache's queue, or came to it, by what they hold.
  void count_taken(std::int64_t blocks) {
    free_ -= blocks;
    allocated_ += blocks;
    peak_used_ = std::max(peak_used_, used());
  }
  void count_freed(std::int64_t blocks) {
    free_ += blocks;
    released_ += blocks;
  }

  /// Releases `blocks` blocks that `owner` may find again, last block first, so that the end of
  /// what it stored is overwritten before the beginning.
  void keep(SequenceId owner, std::int64_t blocks);
  /// How many of `owner`'s blocks will still be free, and unchanged, when the pool has handed out
  /// `taken` more: the first ones of its table. O(blocks of others released after them).
  [[nodiscard]] std::int64_t kept(SequenceId owner, std::int64_t taken) const;
  /// `owner` gets back all that kept(owner, 0) counts, wherever they are in the queue.
  std::int64_t take_back(SequenceId owner);
  /// `owner` will not come back for what it kept: its blocks stay where they are in the queue.
  void forget(SequenceId owner);
  /// All blocks are free, and nothing can be found again.
  void clear();

  [[nodiscard]] std::int64_t total() const { return total_; }
  [[nodiscard]] std::int64_t free() const { return free_; }
  [[nodiscard]] std::int64_t used() const { return total_ - free_; }
  [[nodiscard]] std::int64_t peak_used() const { return peak_used_; }
  /// Blocks handed out and taken back since the start.
  [[nodiscard]] std::int64_t allocated() const { return allocated_; }
  [[nodiscard]] std::int64_t released() const { return released_; }
  /// Kept blocks whose contents were lost: handed to others, or cleared.
  [[nodiscard]] std::int64_t overwritten() const { return overwritten_; }

 private:
  /// A stretch of the free queue: blocks of no use to anybody, then those of one owner.
  struct Kept {
    SequenceId owner = no_sequence;
    std::int64_t blank = 0;
    std::int64_t blocks = 0;
  };
  void overwrite(std::int64_t blocks);

  PrefixCache* cache_ = nullptr;
  std::int64_t total_;
  std::int64_t free_;
  std::deque<Kept> kept_;     ///< From the head of the queue; behind the last all is blank.
  std::int64_t in_kept_ = 0;  ///< Σ blank + blocks of `kept_`.
  std::int64_t peak_used_ = 0;
  std::int64_t allocated_ = 0;
  std::int64_t released_ = 0;
  std::int64_t overwritten_ = 0;
};

}  // namespace tokenline
