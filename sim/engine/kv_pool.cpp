#include "sim/engine/kv_pool.hpp"

namespace tokenline {

void KvPool::keep(SequenceId owner, std::int64_t blocks) {
  if (blocks > 0) {
    kept_.push_back({.owner = owner, .blank = free_ - in_kept_, .blocks = blocks});
    in_kept_ = free_ + blocks;
  }
  release(blocks);
}

std::int64_t KvPool::kept(SequenceId owner, std::int64_t taken) const {
  std::int64_t end = in_kept_;  // blocks of the queue up to the end of a stretch
  for (auto stretch = kept_.rbegin(); stretch != kept_.rend(); ++stretch) {
    if (stretch->owner == owner) {
      const std::int64_t ahead = end - stretch->blocks;
      return std::clamp<std::int64_t>(end - std::max(taken, ahead), 0, stretch->blocks);
    }
    end -= stretch->blank + stretch->blocks;
  }
  return 0;
}

std::int64_t KvPool::take_back(SequenceId owner) {
  const auto found = std::find_if(kept_.rbegin(), kept_.rend(),
                                  [&](const Kept& stretch) { return stretch.owner == owner; });
  if (found == kept_.rend()) return 0;
  const std::int64_t blocks = found->blocks;
  const std::int64_t blank = found->blank;
  const auto next = kept_.erase(std::prev(found.base()));
  in_kept_ -= blocks;
  // What lay ahead of it now lies ahead of the next stretch, or behind the last.
  if (next == kept_.end())
    in_kept_ -= blank;
  else
    next->blank += blank;
  count_taken(blocks);
  return blocks;
}

void KvPool::forget(SequenceId owner) {
  const auto found = std::ranges::find(kept_, owner, &Kept::owner);
  if (found == kept_.end()) return;
  overwritten_ += found->blocks;
  const std::int64_t blank = found->blank + found->blocks;
  const auto next = kept_.erase(found);
  if (next == kept_.end())
    in_kept_ -= blank;
  else
    next->blank += blank;
}

void KvPool::overwrite(std::int64_t blocks) {
  while (blocks > 0 && !kept_.empty()) {
    Kept& first = kept_.front();
    const std::int64_t blank = std::min(blocks, first.blank);
    const std::int64_t lost = std::min(blocks - blank, first.blocks);
    first.blank -= blank;
    first.blocks -= lost;
    overwritten_ += lost;
    in_kept_ -= blank + lost;
    blocks -= blank + lost;
    if (first.blocks == 0) kept_.pop_front();
  }
}

void KvPool::clear() {
  for (const Kept& stretch : kept_) overwritten_ += stretch.blocks;
  kept_.clear();
  in_kept_ = 0;
  release(used());
  if (cache_ != nullptr) cache_->clear();
}

}  // namespace tokenline
