#pragma once

#include <cstdint>
#include <vector>

namespace tokenline {

/// The KV blocks of an instance by what they hold, where requests may begin alike: vLLM V1's
/// BlockPool (vllm/v1/core/block_pool.py). A full block has a hash of all tokens up to its end.
/// While sequences hold it, it counts them; then it goes to the tail of the queue of free blocks,
/// and can be found until it is handed out from the head. Only blocks with a hash are kept one by
/// one: all others are blank, and counted where they lie in the queue.
class PrefixCache {
 public:
  using BlockId = std::uint32_t;
  static constexpr BlockId no_block = 0xffffffffU;

  /// How many blocks are where.
  struct Census {
    std::int64_t blank = 0;       ///< Free, with nothing to be found in them.
    std::int64_t cached = 0;      ///< Free, and found while they are.
    std::int64_t referenced = 0;  ///< With a hash, held by sequences.
  };

  explicit PrefixCache(std::int64_t blocks);

  /// Takes blocks from the head of the queue; what they held is lost. Those of hand_out_ahead()
  /// come first.
  void hand_out(std::int64_t blocks);
  /// A decision will hand out so many in all when it takes effect: they are gone for what it looks
  /// up until then.
  void hand_out_ahead(std::int64_t blocks);
  /// Whether what was handed out ahead has been used.
  [[nodiscard]] bool settled() const { return ahead_ == 0; }
  /// Puts blank blocks at the tail.
  void give_back(std::int64_t blocks) { blank_tail_ += blocks; }

  /// The block that has had this hash for longest, or no_block. Why there may be more: a request
  /// whose prompt is all there computes the last block again.
  [[nodiscard]] BlockId find(std::uint64_t hash) const;
  [[nodiscard]] bool has(BlockId block, std::uint64_t hash) const {
    return blocks_with_hash_[block].hash == hash && blocks_with_hash_[block].used;
  }
  [[nodiscard]] std::uint32_t references(BlockId block) const {
    return blocks_with_hash_[block].references;
  }
  /// A block that was handed out gets full: one sequence holds it.
  [[nodiscard]] BlockId publish(std::uint64_t hash);
  /// What a block holds is found by another hash from now on.
  void rename(BlockId block, std::uint64_t hash);
  /// One more sequence holds the block; whether it was in the queue.
  bool take(BlockId block);
  /// One sequence fewer does; whether it is in the queue now.
  bool drop(BlockId block);
  /// All blocks are free and blank.
  void clear();

  /// Σ over blocks of the sequences that hold it, beyond the first.
  [[nodiscard]] std::int64_t extra_references() const { return extra_references_; }
  /// Counts block by block.
  [[nodiscard]] Census census() const;

 private:
  struct Block {
    std::uint64_t hash = 0;
    std::int64_t blank_before = 0;  ///< In the queue: blank blocks between the one before and it.
    std::uint32_t references = 0;
    BlockId previous = no_block;  ///< In the queue.
    BlockId next = no_block;
    BlockId behind = no_block;  ///< In its bucket.
    bool used = false;
  };

  [[nodiscard]] BlockId& bucket(std::uint64_t hash) {
    return buckets_[hash & (buckets_.size() - 1)];
  }
  void pop(std::int64_t blocks);
  void unlink(BlockId id);
  void forget(BlockId id);
  void enter_bucket(BlockId id);
  void leave_bucket(BlockId id);

  std::int64_t blocks_;
  std::vector<Block> blocks_with_hash_;
  std::vector<BlockId> unused_;  ///< Places of it.
  /// First block of each bucket; blocks are in the order in which they were filled. Why not a map:
  /// a run of the Mooncake trace takes six times as long, most of it to wait for memory.
  std::vector<BlockId> buckets_;
  BlockId head_ = no_block;
  BlockId tail_ = no_block;
  std::int64_t blank_tail_;  ///< Blank blocks behind the tail.
  std::int64_t ahead_ = 0;
  std::int64_t extra_references_ = 0;
};

}  // namespace tokenline
