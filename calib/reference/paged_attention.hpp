#pragma once

#include <cstdint>
#include <span>

#include "calib/reference/attention.hpp"
#include "calib/reference/paged_pool.hpp"

namespace tokenline::reference {

/// Keys and values of one head in the blocks of a PagedPool: token i of a request lies in row
/// i mod block_size of block table[i / block_size].
class PagedCache {
 public:
  /// `blocks` blocks of `block_size` tokens, keys and values of `width`; all at least 1.
  PagedCache(std::int64_t blocks, std::int64_t block_size, std::int64_t width);

  /// Stores the next token of `request`. False, and nothing changes, when no block is free.
  [[nodiscard]] bool append(std::int64_t request, std::span<const double> key,
                            std::span<const double> value);
  /// Gives the blocks of `request` back. InternalError when it has none.
  void release(std::int64_t request) { pool_.release(request); }

  /// The keys, or the values, of `request` in the order of its tokens: what a contiguous cache
  /// would hold.
  [[nodiscard]] Matrix gathered_keys(std::int64_t request) const {
    return gathered(request, keys_);
  }
  [[nodiscard]] Matrix gathered_values(std::int64_t request) const {
    return gathered(request, values_);
  }

  /// One row per query of `q`, each over all tokens of `request`, block by block through its table
  /// (PagedAttention, Kwon et al., SOSP'23, equation 4). Contract: `request` has tokens.
  [[nodiscard]] Matrix attention(std::int64_t request, const Matrix& q) const;

  [[nodiscard]] const PagedPool& pool() const { return pool_; }

 private:
  [[nodiscard]] Matrix gathered(std::int64_t request, const Matrix& from) const;

  std::int64_t block_size_;
  PagedPool pool_;
  Matrix keys_;  ///< Block after block.
  Matrix values_;
};

}  // namespace tokenline::reference
