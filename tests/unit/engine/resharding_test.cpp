#include "sim/engine/resharding.hpp"

#include <catch2/catch.hpp>
#include <map>

using namespace tokenline;

TEST_CASE("between equal degrees every rank sends its own heads to the same rank", "[transfer]") {
  const auto slices = reshard(8, 4, 4);
  REQUIRE(slices.size() == 4);
  for (std::int64_t rank = 0; rank < 4; ++rank)
    CHECK(slices[static_cast<std::size_t>(rank)] == KvSlice{.from = rank, .to = rank, .heads = 2});
}

TEST_CASE("two ranks of four heads become four ranks of two, and back", "[transfer]") {
  CHECK(reshard(8, 2, 4) == std::vector<KvSlice>{{0, 0, 2}, {0, 1, 2}, {1, 2, 2}, {1, 3, 2}});
  CHECK(reshard(8, 4, 2) == std::vector<KvSlice>{{0, 0, 2}, {1, 0, 2}, {2, 1, 2}, {3, 1, 2}});
}

TEST_CASE("heads that several ranks have are sent to each rank that keeps them", "[transfer]") {
  // Two heads on eight ranks: four copies of each.
  const auto spread = reshard(2, 1, 8);
  REQUIRE(spread.size() == 8);
  std::int64_t heads = 0;
  for (const KvSlice& slice : spread) heads += slice.heads;
  CHECK(heads == 8);
  // Back to one rank each head moves once; receivers take turns among the copies.
  CHECK(reshard(2, 8, 1) == std::vector<KvSlice>{{0, 0, 1}, {4, 0, 1}});
  CHECK(reshard(2, 8, 2) == std::vector<KvSlice>{{0, 0, 1}, {5, 1, 1}});
}

TEST_CASE("MLA's latent, one head, goes from each rank to the same rank", "[transfer]") {
  const auto slices = reshard(1, 8, 8);
  REQUIRE(slices.size() == 8);
  for (const KvSlice& slice : slices) CHECK(slice.from == slice.to);
}

TEST_CASE("whatever the degrees, every receiver gets exactly the heads that it keeps",
          "[transfer]") {
  for (const std::int64_t heads : {1, 2, 4, 8, 32})
    for (const std::int64_t from : {1, 2, 4, 8, 16})
      for (const std::int64_t to : {1, 2, 4, 8, 16}) {
        INFO(heads << " heads, " << from << " to " << to);
        std::map<std::int64_t, std::int64_t> received;
        for (const KvSlice& slice : reshard(heads, from, to)) {
          REQUIRE(slice.from >= 0);
          REQUIRE(slice.from < from);
          received[slice.to] += slice.heads;
        }
        REQUIRE(std::ssize(received) == to);
        for (const auto& [rank, count] : received)
          CHECK(count == std::max<std::int64_t>(1, heads / to));
      }
}
