#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace tokenline::reference {

/// KV memory in blocks of equal size, with a block table per request: the plain form of what vLLM's
/// block manager does (PagedAttention, SOSP'23, section 4.3) without sharing, swapping or copy on
/// write. Blocks are handed out first in, first out; at the start in the order of their ids. A full
/// block keeps what it holds until it is handed out again (vLLM V1, vllm/v1/core/block_pool.py).
class PagedPool {
 public:
  /// `blocks` blocks of `block_size` tokens, both at least 1; else InternalError.
  PagedPool(std::int64_t blocks, std::int64_t block_size);

  /// Gives `request` room for `tokens` more tokens, taking blocks from the front of the free list
  /// only where its last one is full; a request without a table gets one. False, and nothing
  /// changes, when the free blocks would fall below `leave_free`.
  [[nodiscard]] bool append(std::int64_t request, std::int64_t tokens, std::int64_t leave_free = 0);

  /// Returns the blocks of `request` to the end of the free list, the last of its table first.
  /// InternalError when it has none.
  void release(std::int64_t request);

  /// `request` keeps its first `tokens` tokens, at least one and no more than it has; the blocks
  /// behind them go to the end of the free list, the last first, with nothing to be found in them.
  /// InternalError when it has no table.
  void truncate(std::int64_t request, std::int64_t tokens);

  /// Tokens of a released `request` that can be found again: those of its first full blocks, up to
  /// the first that has been handed out since.
  [[nodiscard]] std::int64_t found(std::int64_t request) const;
  /// The blocks of those tokens leave the free list and are the table of `request` again.
  /// InternalError when it has a table.
  void take_back(std::int64_t request);

  /// The blocks of `request` in the order of its tokens; empty when it has no table.
  [[nodiscard]] std::vector<std::int64_t> table(std::int64_t request) const;
  /// Tokens stored for `request`; 0 when it has no table.
  [[nodiscard]] std::int64_t tokens(std::int64_t request) const;
  /// Free blocks in the order in which they will be handed out.
  [[nodiscard]] const std::deque<std::int64_t>& free_list() const { return free_; }

  [[nodiscard]] std::int64_t free() const { return static_cast<std::int64_t>(free_.size()); }
  [[nodiscard]] std::int64_t used() const { return blocks_ - free(); }
  /// Token places in blocks that are handed out but hold nothing yet: internal fragmentation.
  [[nodiscard]] std::int64_t unused_places() const;

 private:
  struct Holding {
    std::vector<std::int64_t> table;
    std::int64_t tokens = 0;
  };

  /// What a block holds: block number `second` of request `first`.
  using Contents = std::pair<std::int64_t, std::int64_t>;
  /// The free block with these contents.
  [[nodiscard]] std::optional<std::int64_t> find(Contents contents) const;

  std::int64_t blocks_;
  std::int64_t block_size_;
  std::deque<std::int64_t> free_;
  std::map<std::int64_t, Contents> contents_;  ///< Of free blocks that were full, by id.
  std::map<std::int64_t, Holding> held_;
};

}  // namespace tokenline::reference
