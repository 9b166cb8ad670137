#include "sim/engine/kv_pool.hpp"

#include <catch2/catch.hpp>
#include <set>

#include "calib/reference/paged_pool.hpp"
#include "sim/base/random.hpp"

using namespace tokenline;

TEST_CASE("the pool that counts keeps what the pool with block ids keeps", "[kv]") {
  constexpr std::int64_t block_size = 4;
  KvPool counts(24);
  reference::PagedPool ids(24, block_size);
  RandomStream random(7, "kv_pool", 0);
  std::set<std::int64_t> released;  // kept, not taken back yet
  std::int64_t found = 0;
  for (int round = 0; round < 20'000; ++round) {
    const auto owner = static_cast<std::int64_t>(random() % 6);
    const auto id = static_cast<SequenceId>(owner);
    const std::int64_t stored = ids.tokens(owner);
    if (stored == 0 && released.erase(owner) > 0) {
      const std::int64_t cached = ids.found(owner);
      found += cached;
      REQUIRE(counts.take_back(id) * block_size == cached);
      ids.take_back(owner);
    } else if (stored > 0 && random() % 3 == 0) {
      counts.release((stored + block_size - 1) / block_size - stored / block_size);
      counts.keep(id, stored / block_size);
      ids.release(owner);
      released.insert(owner);
    } else if (const auto tokens = static_cast<std::int64_t>(1 + random() % 20);
               ids.append(owner, tokens)) {
      counts.allocate((stored + tokens + block_size - 1) / block_size -
                      (stored + block_size - 1) / block_size);
    }
    REQUIRE(counts.free() == ids.free());
    for (const std::int64_t other : released)
      REQUIRE(counts.kept(static_cast<SequenceId>(other), 0) * block_size == ids.found(other));
  }
  CHECK(found > 0);
}
