#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/base/check.hpp"

namespace tokenline {

/// The KV blocks of one instance, by count: without sharing, which block a sequence gets never
/// matters. The pool with block ids, which this one must agree with, is calib/reference/paged_pool.
class KvPool {
 public:
  explicit KvPool(std::int64_t blocks) : total_(blocks), free_(blocks) {}

  void allocate(std::int64_t blocks) {
    TOKENLINE_CHECK(blocks >= 0 && blocks <= free_, "{} KV blocks taken of {} free ones", blocks,
                    free_);
    free_ -= blocks;
    allocated_ += blocks;
    peak_used_ = std::max(peak_used_, used());
  }
  void release(std::int64_t blocks) {
    TOKENLINE_CHECK(blocks >= 0 && blocks <= used(), "{} KV blocks freed of {} used ones", blocks,
                    used());
    free_ += blocks;
    released_ += blocks;
  }

  [[nodiscard]] std::int64_t total() const { return total_; }
  [[nodiscard]] std::int64_t free() const { return free_; }
  [[nodiscard]] std::int64_t used() const { return total_ - free_; }
  [[nodiscard]] std::int64_t peak_used() const { return peak_used_; }
  /// Blocks handed out and taken back since the start.
  [[nodiscard]] std::int64_t allocated() const { return allocated_; }
  [[nodiscard]] std::int64_t released() const { return released_; }

 private:
  std::int64_t total_;
  std::int64_t free_;
  std::int64_t peak_used_ = 0;
  std::int64_t allocated_ = 0;
  std::int64_t released_ = 0;
};

}  // namespace tokenline
