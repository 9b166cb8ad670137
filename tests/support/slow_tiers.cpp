#include "tests/support/slow_tiers.hpp"

#include <algorithm>
#include <optional>

namespace tokenline::test {

SlowTiers::SlowTiers(std::vector<TierPlan> plans) {
  for (TierPlan& plan : plans) tiers_.push_back({.plan = plan});
}

std::list<SlowTiers::Kept>::iterator SlowTiers::Tier::find(std::int64_t name) {
  return std::ranges::find(blocks, name, &Kept::name);
}

SlowTiers::Names SlowTiers::names(const SlowText& text, std::int64_t block_size,
                                  std::int64_t count) {
  Names names;
  std::int64_t before = -1;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto first = text.begin() + i * block_size;
    const auto next = static_cast<std::int64_t>(known_.size());
    before =
        known_.emplace(std::pair(before, SlowText(first, first + block_size)), next).first->second;
    names.push_back(before);
  }
  return names;
}

bool SlowTiers::has(std::int64_t name) const {
  return std::ranges::any_of(tiers_, [name](const Tier& tier) {
    return std::ranges::find(tier.blocks, name, &Kept::name) != tier.blocks.end();
  });
}

/// Into the first tier, out of the other one if it is there. Where that is full its last block
/// falls into the next, and the last of that out of it; blocks under way do not fall.
void SlowTiers::bring(std::int64_t name, TimePoint now) {
  Tier& first = tiers_.front();
  std::optional<Kept> old;
  if (tiers_.size() > 1 && tiers_[1].find(name) != tiers_[1].blocks.end()) {
    old = *tiers_[1].find(name);
    tiers_[1].blocks.erase(tiers_[1].find(name));
  }
  if (first.full() && first.blocks.back().busy > now) {
    if (old) tiers_[1].blocks.push_front(*old);
    return;
  }
  if (first.full()) {
    const Kept falls = first.blocks.back();
    first.blocks.pop_back();
    if (tiers_.size() > 1) {
      Tier& next = tiers_[1];
      const bool stuck = next.full() && next.blocks.back().busy > now;
      if (next.full() && !stuck) next.blocks.pop_back();
      if (!stuck) {
        next.blocks.push_front(falls);
        gone_.push_back(falls.name);
      }
    }
  }
  first.blocks.push_front(old.value_or(Kept{.name = name}));
  come_.push_back(name);
}

void SlowTiers::use(const Names& names, TimePoint now) {
  Tier& first = tiers_.front();
  Names kept = names;
  kept.resize(std::min(kept.size(), static_cast<std::size_t>(first.plan.blocks)));
  std::ranges::reverse(kept);
  const auto touch = [&first, &kept] {
    for (const std::int64_t name : kept)
      if (const auto at = first.find(name); at != first.blocks.end())
        first.blocks.splice(first.blocks.begin(), first.blocks, at);
  };
  touch();
  for (const std::int64_t name : kept)
    if (first.find(name) == first.blocks.end()) bring(name, now);
  touch();
}

void SlowTiers::write(Names& names, Tier& tier, TimePoint now) {
  std::erase_if(names, [&](std::int64_t name) { return tier.find(name) == tier.blocks.end(); });
  if (names.empty()) return;
  tier.write_free =
      std::max(now, tier.write_free) + to_duration(tier.plan.write.time(std::ssize(names)));
  for (const std::int64_t name : names) {
    tier.find(name)->there = tier.write_free;
    tier.find(name)->busy = std::max(tier.find(name)->busy, tier.write_free);
  }
  names.clear();
}

void SlowTiers::store(const Names& names, TimePoint now) {
  use(names, now);
  write(come_, tiers_.front(), now);
  if (tiers_.size() > 1) write(gone_, tiers_[1], now);
}

std::pair<TimePoint, Duration> SlowTiers::load(const Names& names, TimePoint now) {
  TimePoint end{};
  Duration longest{};
  for (Tier& tier : tiers_) {
    std::int64_t count = 0;
    TimePoint start = std::max(now, tier.read_free);
    for (const std::int64_t name : names) {
      const auto at = tier.find(name);
      if (at == tier.blocks.end()) continue;
      ++count;
      start = std::max(start, at->there);
    }
    if (count == 0) continue;
    const Duration time = to_duration(tier.plan.read.time(count));
    tier.read_free = start + time;
    if (tier.read_free <= end) continue;
    end = tier.read_free;
    longest = time;
  }
  for (Tier& tier : tiers_)
    for (Kept& block : tier.blocks)
      if (std::ranges::find(names, block.name) != names.end())
        block.busy = std::max(block.busy, end);
  use(names, now);
  for (const std::int64_t name : come_) tiers_.front().find(name)->there = end;
  come_.clear();
  if (tiers_.size() > 1) write(gone_, tiers_[1], now);
  return {end, longest};
}

void SlowTiers::clear(TimePoint now) {
  for (Tier& tier : tiers_) {
    tier.blocks.clear();
    tier.read_free = now;
    tier.write_free = now;
  }
}

}  // namespace tokenline::test
