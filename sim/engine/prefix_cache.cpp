#include "sim/engine/prefix_cache.hpp"

#include <algorithm>
#include <bit>

#include "sim/base/check.hpp"

namespace tokenline {

PrefixCache::PrefixCache(std::int64_t blocks)
    : blocks_(blocks),
      buckets_(std::bit_ceil(static_cast<std::size_t>(blocks)), no_block),
      blank_tail_(blocks) {}

void PrefixCache::hand_out(std::int64_t blocks) {
  const std::int64_t before = std::min(blocks, ahead_);
  ahead_ -= before;
  pop(blocks - before);
}

void PrefixCache::hand_out_ahead(std::int64_t blocks) {
  TOKENLINE_CHECK(blocks >= ahead_, "a decision takes {} blocks after {}", blocks, ahead_);
  pop(blocks - ahead_);
  ahead_ = blocks;
}

void PrefixCache::pop(std::int64_t blocks) {
  while (blocks > 0) {
    std::int64_t& blank = head_ == no_block ? blank_tail_ : blocks_with_hash_[head_].blank_before;
    const std::int64_t taken = std::min(blocks, blank);
    blank -= taken;
    blocks -= taken;
    if (blocks == 0) return;
    TOKENLINE_CHECK(head_ != no_block, "{} KV blocks taken beyond the free ones", blocks);
    const BlockId lost = head_;
    unlink(lost);
    forget(lost);
    --blocks;
  }
}

PrefixCache::BlockId PrefixCache::find(std::uint64_t hash) const {
  BlockId id = buckets_[hash & (buckets_.size() - 1)];
  while (id != no_block && blocks_with_hash_[id].hash != hash) id = blocks_with_hash_[id].behind;
  return id;
}

PrefixCache::BlockId PrefixCache::publish(std::uint64_t hash) {
  BlockId id = static_cast<BlockId>(blocks_with_hash_.size());
  if (unused_.empty()) {
    blocks_with_hash_.emplace_back();
  } else {
    id = unused_.back();
    unused_.pop_back();
  }
  blocks_with_hash_[id] = {.hash = hash, .references = 1, .used = true};
  enter_bucket(id);
  return id;
}

void PrefixCache::rename(BlockId block, std::uint64_t hash) {
  leave_bucket(block);
  blocks_with_hash_[block].hash = hash;
  enter_bucket(block);
}

void PrefixCache::enter_bucket(BlockId id) {
  blocks_with_hash_[id].behind = no_block;
  BlockId* place = &bucket(blocks_with_hash_[id].hash);
  while (*place != no_block) place = &blocks_with_hash_[*place].behind;
  *place = id;
}

void PrefixCache::leave_bucket(BlockId id) {
  BlockId* place = &bucket(blocks_with_hash_[id].hash);
  while (*place != id) place = &blocks_with_hash_[*place].behind;
  *place = blocks_with_hash_[id].behind;
}

bool PrefixCache::take(BlockId block) {
  Block& taken = blocks_with_hash_[block];
  const bool was_free = taken.references++ == 0;
  if (was_free)
    unlink(block);
  else
    ++extra_references_;
  return was_free;
}

bool PrefixCache::drop(BlockId block) {
  Block& dropped = blocks_with_hash_[block];
  if (--dropped.references > 0) {
    --extra_references_;
    return false;
  }
  dropped.blank_before = blank_tail_;
  blank_tail_ = 0;
  dropped.previous = tail_;
  dropped.next = no_block;
  (tail_ == no_block ? head_ : blocks_with_hash_[tail_].next) = block;
  tail_ = block;
  return true;
}

void PrefixCache::unlink(BlockId id) {
  const Block& block = blocks_with_hash_[id];
  // What lay ahead of it now lies ahead of the next one, or behind the last.
  (block.next == no_block ? blank_tail_ : blocks_with_hash_[block.next].blank_before) +=
      block.blank_before;
  (block.previous == no_block ? head_ : blocks_with_hash_[block.previous].next) = block.next;
  (block.next == no_block ? tail_ : blocks_with_hash_[block.next].previous) = block.previous;
}

void PrefixCache::forget(BlockId id) {
  leave_bucket(id);
  blocks_with_hash_[id].used = false;
  unused_.push_back(id);
}

void PrefixCache::clear() { *this = PrefixCache(blocks_); }

PrefixCache::Census PrefixCache::census() const {
  Census census{.blank = blank_tail_};
  for (BlockId id = head_; id != no_block; id = blocks_with_hash_[id].next) {
    ++census.cached;
    census.blank += blocks_with_hash_[id].blank_before;
  }
  census.referenced = std::ranges::count_if(
      blocks_with_hash_, [](const Block& block) { return block.used && block.references > 0; });
  return census;
}

}  // namespace tokenline
