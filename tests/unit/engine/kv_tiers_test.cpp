// Tiers behind the KV pool, alone: what they keep, and when what they read is there.
#include "sim/engine/kv_tiers.hpp"

#include <catch2/catch.hpp>
#include <list>
#include <vector>

#include "sim/base/random.hpp"

using namespace tokenline;

namespace {

using Hashes = std::vector<std::uint64_t>;

/// n blocks take 1 ms + n · 10 ms to read, twice that to write.
TierPlan tier(std::int64_t blocks, bool nvme = false) {
  return {.nvme = nvme,
          .blocks = blocks,
          .block = Bytes(1e6),
          .read = {.startup = Seconds(1e-3), .unit = Seconds(10e-3)},
          .write = {.startup = Seconds(2e-3), .unit = Seconds(20e-3)}};
}

TimePoint at(double seconds) { return TimePoint{} + to_duration(Seconds(seconds)); }

/// Hits of a cache that overwrites the least recently used of `size` items.
std::vector<bool> lru_hits(const Hashes& accesses, std::size_t size) {
  std::list<std::uint64_t> items;
  std::vector<bool> hits;
  for (const std::uint64_t access : accesses) {
    const auto found = std::find(items.begin(), items.end(), access);
    hits.push_back(found != items.end());
    if (found != items.end()) items.erase(found);
    items.push_front(access);
    if (items.size() > size) items.pop_back();
  }
  return hits;
}

/// The same of tiers, one access every ten seconds.
std::vector<bool> tier_hits(const Hashes& accesses, const std::vector<TierPlan>& plans) {
  KvTiers tiers(plans);
  std::vector<bool> hits;
  double now = 0.0;
  for (const std::uint64_t access : accesses) {
    hits.push_back(tiers.has(access));
    const Hashes one{access};
    if (hits.back()) (void)tiers.load(one, at(now));
    tiers.store(one, at(now + 5.0));
    now += 10.0;
  }
  return hits;
}

}  // namespace

TEST_CASE("tiers of N and M blocks hit as one least-recently-used cache of N + M does", "[tiers]") {
  RandomStream random(7, "tiers", 0);
  Hashes accesses;
  for (int i = 0; i < 3000; ++i) accesses.push_back(random() % (i % 3 == 0 ? 9 : 60));
  for (const std::int64_t host : {1, 4, 12, 30}) {
    CAPTURE(host);
    CHECK(tier_hits(accesses, {tier(host)}) == lru_hits(accesses, static_cast<std::size_t>(host)));
    for (const std::int64_t drives : {1, 7, 25})
      CHECK(tier_hits(accesses, {tier(host), tier(drives, true)}) ==
            lru_hits(accesses, static_cast<std::size_t>(host + drives)));
  }
}

TEST_CASE("a read takes its start and its bytes, and waits for those before it", "[tiers]") {
  const std::vector<TierPlan> plans{tier(10)};
  KvTiers tiers(plans);
  const Hashes three{1, 2, 3};
  const Hashes two{4, 5};
  tiers.store(three, at(0.0));
  tiers.store(two, at(0.0));
  const KvTiers::Load first = tiers.load(three, at(1.0));
  CHECK(first.end == at(1.031));
  CHECK(first.wire == to_duration(Seconds(0.031)));
  const KvTiers::Load second = tiers.load(two, at(1.01));
  CHECK(second.end == at(1.052));
  CHECK(second.wire == to_duration(Seconds(0.021)));
  const TierCounts& counts = tiers.counts()[0];
  CHECK(counts.reads == 2);
  CHECK(counts.read_blocks == 5);
  CHECK(counts.queueing == to_duration(Seconds(0.021)));
  CHECK(counts.reading == to_duration(Seconds(0.052)));
  CHECK(counts.written_blocks == 5);
  CHECK(counts.writing == to_duration(Seconds(0.104)));
}

TEST_CASE("a read waits until what it reads has been written", "[tiers]") {
  const std::vector<TierPlan> plans{tier(10)};
  KvTiers tiers(plans);
  const Hashes one{1};
  tiers.store(one, at(0.0));  // Until 22 ms.
  CHECK(tiers.load(one, at(0.01)).end == at(0.022 + 0.011));
}

TEST_CASE("what is under way is not overwritten, and a text keeps its beginning", "[tiers]") {
  const std::vector<TierPlan> plans{tier(3)};
  KvTiers tiers(plans);
  const Hashes text{1, 2, 3, 4, 5};
  tiers.store(text, at(0.0));
  for (const std::uint64_t hash : text) CHECK(tiers.has(hash) == (hash <= 3));
  const Hashes other{9};
  tiers.store(other, at(0.001));
  CHECK_FALSE(tiers.has(9));
  CHECK(tiers.counts()[0].refused_blocks == 1);
  tiers.store(other, at(1.0));
  CHECK(tiers.has(9));
  CHECK_FALSE(tiers.has(3));
  CHECK(tiers.has(1));
  tiers.clear(at(2.0));
  CHECK(tiers.known() == 0);
}
