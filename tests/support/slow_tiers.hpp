#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include "sim/engine/kv_tiers.hpp"
#include "tests/support/slow_pool.hpp"

namespace tokenline::test {

/// Host memory and drives behind a SlowPool: a list of blocks each, the one used last in front. A
/// block is known by its tokens and the block before it.
class SlowTiers {
 public:
  using Names = std::vector<std::int64_t>;

  explicit SlowTiers(std::vector<TierPlan> plans);

  /// Names of the first `count` blocks of a text.
  [[nodiscard]] Names names(const SlowText& text, std::int64_t block_size, std::int64_t count);
  [[nodiscard]] bool has(std::int64_t name) const;
  /// When blocks that are read from now on are there, and how long the longest read takes.
  std::pair<TimePoint, Duration> load(const Names& names, TimePoint now);
  void store(const Names& names, TimePoint now);
  void clear(TimePoint now);

 private:
  struct Kept {
    std::int64_t name = 0;
    TimePoint there{};
    TimePoint busy{};
  };
  struct Tier {
    TierPlan plan;
    std::list<Kept> blocks{};
    TimePoint read_free{};
    TimePoint write_free{};

    [[nodiscard]] std::list<Kept>::iterator find(std::int64_t name);
    [[nodiscard]] bool full() const { return std::ssize(blocks) == plan.blocks; }
  };
  void use(const Names& names, TimePoint now);
  void bring(std::int64_t name, TimePoint now);
  void write(Names& names, Tier& tier, TimePoint now);

  std::vector<Tier> tiers_;
  std::map<std::pair<std::int64_t, SlowText>, std::int64_t> known_;
  Names come_;  ///< To the first tier by the operation under way,
  Names gone_;  ///< and from there to the second.
};

}  // namespace tokenline::test
