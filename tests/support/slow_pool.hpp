#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace tokenline::test {

/// A token as this engine needs it: which text it is from, and where in it.
using SlowToken = std::pair<std::uint64_t, std::int64_t>;
/// Prompt and answer of a request, token by token.
using SlowText = std::vector<SlowToken>;

/// KV memory in blocks that have ids and remember all tokens up to their end, so that whoever
/// begins with the same tokens may use them: vLLM V1's block pool (vllm/v1/core/block_pool.py)
/// without hashes. Free blocks are handed out first in, first out.
class SlowPool {
 public:
  SlowPool(std::int64_t blocks, std::int64_t block_size);

  /// What a request will store. Without it nothing that it stores is ever found.
  void write(std::int64_t request, SlowText text);
  /// What a request has stored, and will, is another text from some token on.
  void rewrite(std::int64_t request, SlowText text);
  /// Gives `request` room for `tokens` more tokens; false, and nothing changes, where the free
  /// blocks do not suffice.
  [[nodiscard]] bool append(std::int64_t request, std::int64_t tokens);
  /// Gives `request` blocks for `tokens` tokens in all that it does not store yet; there are
  /// enough.
  void reserve(std::int64_t request, std::int64_t tokens);
  /// Gives up all blocks of `request`, the last first.
  void release(std::int64_t request);
  /// `request` keeps its first `tokens` tokens.
  void truncate(std::int64_t request, std::int64_t tokens);

  /// Blocks, from the first on, that hold what `request` begins with; fewer than `tokens` tokens.
  [[nodiscard]] std::vector<std::int64_t> find(std::int64_t request, std::int64_t tokens) const;
  /// The same of a text.
  [[nodiscard]] std::vector<std::int64_t> find(const SlowText& text, std::int64_t tokens) const;
  /// How many of these blocks no request holds.
  [[nodiscard]] std::int64_t count_free(const std::vector<std::int64_t>& blocks) const;
  /// They are the beginning of the table of `request`.
  void share(std::int64_t request, const std::vector<std::int64_t>& blocks);

  [[nodiscard]] std::int64_t table_size(std::int64_t request) const;
  [[nodiscard]] std::int64_t free() const { return static_cast<std::int64_t>(free_.size()); }
  [[nodiscard]] std::int64_t used() const {
    return static_cast<std::int64_t>(blocks_.size()) - free();
  }

 private:
  struct Block {
    std::int64_t holders = 0;
    std::shared_ptr<const SlowText> text{};  ///< It ends the first `end` tokens of it.
    std::int64_t end = 0;
    std::int64_t filled = 0;  ///< The how manieth of all to be filled.
  };
  struct Table {
    std::vector<std::int64_t> blocks;
    std::int64_t tokens = 0;
  };
  [[nodiscard]] std::optional<std::int64_t> find_block(const SlowText& text,
                                                       std::int64_t end) const;
  void give_up(std::int64_t block);

  std::int64_t block_size_;
  std::vector<Block> blocks_;
  std::deque<std::int64_t> free_;
  std::map<std::int64_t, std::shared_ptr<const SlowText>> texts_;
  std::map<std::int64_t, Table> tables_;
  std::int64_t fillings_ = 0;
};

}  // namespace tokenline::test
