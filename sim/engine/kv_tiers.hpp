#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <unordered_map>
#include <vector>

#include "hwmodels/network/copy.hpp"
#include "sim/base/time.hpp"

namespace tokenline {

inline constexpr std::size_t most_tiers = 2;

/// A place for KV blocks behind the pool of a replica.
struct TierPlan {
  bool nvme = false;  ///< Drives; else host memory.
  std::int64_t blocks = 0;
  Bytes block;         ///< Of all GPUs of the replica together.
  hw::CopyCost read;   ///< To the GPUs, by blocks.
  hw::CopyCost write;  ///< From the GPUs; of a tier behind another one, out of host memory.
};

/// What happened to the blocks of a tier.
struct TierCounts {
  std::int64_t read_blocks = 0;
  std::int64_t written_blocks = 0;
  std::int64_t evicted_blocks = 0;  ///< Overwritten, also those that the next tier took.
  std::int64_t refused_blocks = 0;  ///< Not kept: all that was to be overwritten was under way.
  std::int64_t reads = 0;
  Duration queueing{};  ///< Of reads, for those before them.
  Duration reading{};
  Duration writing{};
  std::int64_t peak_blocks = 0;

  /// What happened since `earlier`; peaks stay.
  [[nodiscard]] TierCounts since(const TierCounts& earlier) const;
};

/// KV blocks in host memory and on drives, by the hash of all tokens up to their end. Blocks are
/// written to the first tier; what it overwrites goes to the next; what is used again moves to the
/// first. Each tier overwrites the block that was not used for longest, so that all of them
/// together are one cache of their size in which they are the ranks (Mattson et al., IBM Systems
/// Journal 1970). Reads and writes of a tier each queue in the order in which they came. A block
/// may be read when it is there, and is not overwritten while it is under way. O(1) per block.
class KvTiers {
 public:
  /// Of at most `most_tiers`, each of at least one block; they must outlive it.
  explicit KvTiers(std::span<const TierPlan> plans);

  /// A read of several blocks.
  struct Load {
    TimePoint end{};
    Duration wire{};  ///< Of what lasts longest; the rest of the time until `end` it waits.
  };

  [[nodiscard]] bool has(std::uint64_t hash) const { return places_.contains(hash); }
  /// Reads blocks, which are all there, from now on.
  Load load(std::span<const std::uint64_t> hashes, TimePoint now);
  /// The first blocks of a text are in the pool: writes those that are not in the first tier yet.
  /// As many as that holds are kept, and overwritten the last one first.
  void store(std::span<const std::uint64_t> hashes, TimePoint now);
  /// All is lost at `now`, what is under way included.
  void clear(TimePoint now);

  [[nodiscard]] const std::array<TierCounts, most_tiers>& counts() const { return counts_; }
  /// Blocks by a walk over each tier.
  [[nodiscard]] std::array<std::int64_t, most_tiers> census() const;
  /// Blocks that has() knows.
  [[nodiscard]] std::int64_t known() const { return static_cast<std::int64_t>(places_.size()); }

 private:
  using Place = std::uint32_t;
  static constexpr Place nowhere = std::numeric_limits<Place>::max();

  struct Block {
    std::uint64_t hash = 0;
    TimePoint there{};               ///< May be read from then on.
    TimePoint busy{};                ///< Not overwritten before.
    Place previous = nowhere;        ///< Used later,
    Place next = nowhere;            ///< and earlier.
    std::uint8_t tier = most_tiers;  ///< In none.
  };
  struct Tier {
    Place newest = nowhere;
    Place oldest = nowhere;
    std::int64_t blocks = 0;
    TimePoint read_free{};   ///< When its reads so far have ended,
    TimePoint write_free{};  ///< and its writes.
  };

  void unlink(Place place);
  void link(Place place, std::size_t tier);
  void forget(Place place);
  [[nodiscard]] bool make_room(std::size_t tier, TimePoint now);
  void to_first(std::uint64_t hash, TimePoint now);
  void use(std::span<const std::uint64_t> hashes, TimePoint now);
  void write(std::vector<Place>& moved, std::size_t tier, TimePoint now);

  std::span<const TierPlan> plans_;
  std::vector<Tier> tiers_;
  std::vector<Block> blocks_;
  std::vector<Place> unused_;
  std::unordered_map<std::uint64_t, Place> places_;
  std::vector<Place> written_;  ///< Of the operation under way: to the first tier,
  std::vector<Place> demoted_;  ///< and to the second.
  std::array<TierCounts, most_tiers> counts_{};
};

}  // namespace tokenline
