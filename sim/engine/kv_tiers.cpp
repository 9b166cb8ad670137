#include "sim/engine/kv_tiers.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace tokenline {

TierCounts TierCounts::since(const TierCounts& earlier) const {
  TierCounts d = *this;
  d.read_blocks -= earlier.read_blocks;
  d.written_blocks -= earlier.written_blocks;
  d.evicted_blocks -= earlier.evicted_blocks;
  d.refused_blocks -= earlier.refused_blocks;
  d.reads -= earlier.reads;
  d.queueing -= earlier.queueing;
  d.reading -= earlier.reading;
  d.writing -= earlier.writing;
  return d;
}

KvTiers::KvTiers(std::span<const TierPlan> plans) : plans_(plans), tiers_(plans.size()) {
  TOKENLINE_CHECK(!plans.empty() && plans.size() <= most_tiers, "{} tiers", plans.size());
}

void KvTiers::unlink(Place place) {
  const Block& block = blocks_[place];
  Tier& tier = tiers_[block.tier];
  (block.previous == nowhere ? tier.newest : blocks_[block.previous].next) = block.next;
  (block.next == nowhere ? tier.oldest : blocks_[block.next].previous) = block.previous;
  --tier.blocks;
}

void KvTiers::link(Place place, std::size_t tier) {
  Tier& its = tiers_[tier];
  Block& block = blocks_[place];
  block.tier = static_cast<std::uint8_t>(tier);
  block.previous = nowhere;
  block.next = its.newest;
  (its.newest == nowhere ? its.oldest : blocks_[its.newest].previous) = place;
  its.newest = place;
  ++its.blocks;
  counts_[tier].peak_blocks = std::max(counts_[tier].peak_blocks, its.blocks);
}

void KvTiers::forget(Place place) {
  unlink(place);
  places_.erase(blocks_[place].hash);
  blocks_[place].tier = most_tiers;
  unused_.push_back(place);
}

/// Whether the tier has room for one more block; what it overwrites goes to the next.
bool KvTiers::make_room(std::size_t tier, TimePoint now) {
  if (tiers_[tier].blocks < plans_[tier].blocks) return true;
  const Place victim = tiers_[tier].oldest;
  if (blocks_[victim].busy > now) return false;
  ++counts_[tier].evicted_blocks;
  const std::size_t next = tier + 1;
  if (next == tiers_.size()) {
    forget(victim);
  } else if (make_room(next, now)) {
    unlink(victim);
    link(victim, next);
    demoted_.push_back(victim);
  } else {
    ++counts_[next].refused_blocks;
    forget(victim);
  }
  return true;
}

/// Makes a block the newest one of the first tier. Where all that could be overwritten is under
/// way, it is not kept, or stays in its tier.
void KvTiers::to_first(std::uint64_t hash, TimePoint now) {
  const auto found = places_.find(hash);
  if (found != places_.end() && blocks_[found->second].tier == 0) {
    unlink(found->second);
    link(found->second, 0);
    return;
  }
  Place place = found == places_.end() ? nowhere : found->second;
  // It leaves its place first: the one that it takes may fall there.
  if (place != nowhere) unlink(place);
  if (!make_room(0, now)) {
    ++counts_[0].refused_blocks;
    if (place != nowhere) link(place, blocks_[place].tier);
    return;
  }
  if (place == nowhere) {
    place = static_cast<Place>(blocks_.size());
    if (unused_.empty()) {
      blocks_.emplace_back();
    } else {
      place = unused_.back();
      unused_.pop_back();
    }
    blocks_[place] = {.hash = hash};
    places_.emplace(hash, place);
  }
  link(place, 0);
  written_.push_back(place);
}

/// The blocks that have come to a tier are written there, as one copy.
void KvTiers::write(std::vector<Place>& moved, std::size_t tier, TimePoint now) {
  // One that was overwritten at once is not.
  std::erase_if(moved, [&](Place place) { return blocks_[place].tier != tier; });
  if (moved.empty()) return;
  Tier& its = tiers_[tier];
  const auto count = static_cast<std::int64_t>(moved.size());
  const Duration time = to_duration(plans_[tier].write.time(count));
  its.write_free = std::max(now, its.write_free) + time;
  counts_[tier].written_blocks += count;
  counts_[tier].writing += time;
  for (const Place place : moved) {
    blocks_[place].there = its.write_free;
    blocks_[place].busy = std::max(blocks_[place].busy, its.write_free);
  }
  moved.clear();
}

/// The first blocks of a text become the newest of the first tier, the first one last; as many as
/// it holds.
void KvTiers::use(std::span<const std::uint64_t> hashes, TimePoint now) {
  const auto most =
      static_cast<std::size_t>(std::min<std::int64_t>(std::ssize(hashes), plans_.front().blocks));
  const auto find = [this](std::uint64_t hash) {
    const auto found = places_.find(hash);
    return found == places_.end() ? nowhere : found->second;
  };
  std::vector<Place> used;
  used.reserve(most);
  for (const std::uint64_t hash : hashes.first(most)) used.push_back(find(hash));
  // A place may have been given to another block meanwhile.
  const auto in_first = [&](std::size_t i) {
    const Place place = used[i];
    return place != nowhere && blocks_[place].tier == 0 && blocks_[place].hash == hashes[i];
  };
  const auto touch = [&] {
    for (std::size_t i = most; i-- > 0;) {
      if (!in_first(i)) continue;
      unlink(used[i]);
      link(used[i], 0);
    }
  };
  // Those that are there first, so that the others do not take their places; then all in order.
  touch();
  for (std::size_t i = most; i-- > 0;) {
    if (in_first(i)) continue;
    to_first(hashes[i], now);
    used[i] = find(hashes[i]);
  }
  touch();
}

void KvTiers::store(std::span<const std::uint64_t> hashes, TimePoint now) {
  use(hashes, now);
  write(written_, 0, now);
  write(demoted_, 1, now);
}

KvTiers::Load KvTiers::load(std::span<const std::uint64_t> hashes, TimePoint now) {
  std::array<std::int64_t, most_tiers> count{};
  std::array<TimePoint, most_tiers> there{};
  for (const std::uint64_t hash : hashes) {
    const Block& block = blocks_[places_.at(hash)];
    ++count[block.tier];
    there[block.tier] = std::max(there[block.tier], block.there);
  }
  Load load;
  for (std::size_t tier = 0; tier < tiers_.size(); ++tier) {
    if (count[tier] == 0) continue;
    const TimePoint start = std::max({now, tiers_[tier].read_free, there[tier]});
    const Duration time = to_duration(plans_[tier].read.time(count[tier]));
    tiers_[tier].read_free = start + time;
    ++counts_[tier].reads;
    counts_[tier].read_blocks += count[tier];
    counts_[tier].queueing += start - now;
    counts_[tier].reading += time;
    if (start + time > load.end) load = {.end = start + time, .wire = time};
  }
  for (const std::uint64_t hash : hashes) {
    Block& block = blocks_[places_.at(hash)];
    block.busy = std::max(block.busy, load.end);
  }
  use(hashes, now);
  // What the drives gave comes by way of host memory, and stays there.
  for (const Place place : written_) blocks_[place].there = load.end;
  written_.clear();
  write(demoted_, 1, now);
  return load;
}

void KvTiers::clear(TimePoint now) {
  blocks_.clear();
  unused_.clear();
  places_.clear();
  std::ranges::fill(tiers_, Tier{.read_free = now, .write_free = now});
}

std::array<std::int64_t, most_tiers> KvTiers::census() const {
  std::array<std::int64_t, most_tiers> blocks{};
  for (std::size_t i = 0; i < tiers_.size(); ++i)
    for (Place place = tiers_[i].newest; place != nowhere; place = blocks_[place].next) ++blocks[i];
  return blocks;
}

}  // namespace tokenline
