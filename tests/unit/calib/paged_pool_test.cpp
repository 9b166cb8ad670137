#include "calib/reference/paged_pool.hpp"

#include <catch2/catch.hpp>
#include <deque>
#include <set>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/base/random.hpp"

using tokenline::InternalError;
using tokenline::RandomStream;
using tokenline::reference::PagedPool;

namespace {

using Ids = std::vector<std::int64_t>;
using FreeList = std::deque<std::int64_t>;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

TEST_CASE("blocks are handed out in order, grow on demand and return to the end of the list",
          "[paged_pool]") {
  PagedPool pool(8, 4);
  REQUIRE(pool.append(101, 5));
  REQUIRE(pool.append(102, 3));
  CHECK(pool.table(101) == Ids{0, 1});
  CHECK(pool.table(102) == Ids{2});
  CHECK(pool.free_list() == FreeList{3, 4, 5, 6, 7});

  REQUIRE(pool.append(101, 4));
  CHECK(pool.table(101) == Ids{0, 1, 3});
  CHECK(pool.tokens(101) == 9);
  CHECK(pool.free_list() == FreeList{4, 5, 6, 7});

  pool.release(102);
  CHECK(pool.free_list() == FreeList{4, 5, 6, 7, 2});
  CHECK(pool.table(102).empty());
  CHECK(pool.tokens(102) == 0);
}

TEST_CASE("a request that does not fit changes nothing", "[paged_pool]") {
  PagedPool pool(3, 4);
  REQUIRE(pool.append(1, 8));
  CHECK_FALSE(pool.append(1, 5));
  CHECK_FALSE(pool.append(2, 5));
  CHECK(pool.table(1) == Ids{0, 1});
  CHECK(pool.tokens(1) == 8);
  CHECK(pool.tokens(2) == 0);
  CHECK(pool.free_list() == FreeList{2});
  CHECK(pool.append(1, 4));
}

TEST_CASE("a watermark holds back blocks but not places in blocks already held", "[paged_pool]") {
  PagedPool pool(4, 4);
  REQUIRE(pool.append(1, 5, 2));
  CHECK_FALSE(pool.append(2, 1, 2));
  CHECK(pool.append(2, 1, 1));
  CHECK(pool.append(1, 3, 4));
  CHECK(pool.free() == 1);
}

TEST_CASE("misuse is a bug, not a modelled outcome", "[paged_pool]") {
  PagedPool pool(2, 4);
  CHECK_THROWS_AS(pool.release(7), InternalError);
  CHECK_THROWS_AS(pool.append(7, 0), InternalError);
  CHECK_THROWS_AS(PagedPool(0, 4), InternalError);
  CHECK_THROWS_AS(PagedPool(4, 0), InternalError);
}

TEST_CASE("every block is in one table or free, and tables have no block to spare",
          "[paged_pool]") {
  constexpr std::int64_t blocks = 24;
  constexpr std::int64_t block_size = 4;
  PagedPool pool(blocks, block_size);
  RandomStream random(42, "paged_pool", 0);
  for (int round = 0; round < 5000; ++round) {
    const auto request = static_cast<std::int64_t>(random() % 8);
    const std::int64_t before = pool.tokens(request);
    if (random() % 4 == 0 && before > 0) {
      pool.release(request);
    } else {
      const auto tokens = static_cast<std::int64_t>(1 + random() % 9);
      const std::int64_t needed =
          ceil_div(before + tokens, block_size) - ceil_div(before, block_size);
      const bool fits = needed <= pool.free();
      REQUIRE(pool.append(request, tokens) == fits);
      REQUIRE(pool.tokens(request) == before + (fits ? tokens : 0));
    }
    std::multiset<std::int64_t> seen(pool.free_list().begin(), pool.free_list().end());
    std::int64_t places = 0;
    for (std::int64_t r = 0; r < 8; ++r) {
      const Ids table = pool.table(r);
      seen.insert(table.begin(), table.end());
      const auto size = static_cast<std::int64_t>(table.size());
      REQUIRE(size == ceil_div(pool.tokens(r), block_size));
      places += size * block_size - pool.tokens(r);
    }
    REQUIRE(seen.size() == static_cast<std::size_t>(blocks));
    REQUIRE(std::set<std::int64_t>(seen.begin(), seen.end()).size() == seen.size());
    REQUIRE(pool.unused_places() == places);
  }
}

TEST_CASE("a released request finds its first full blocks until they are handed out",
          "[paged_pool]") {
  PagedPool pool(8, 4);
  REQUIRE(pool.append(1, 14));  // [0, 1, 2, 3], the last one not full
  REQUIRE(pool.append(2, 4));
  pool.release(1);
  CHECK(pool.free_list() == FreeList{5, 6, 7, 3, 2, 1, 0});
  CHECK(pool.found(1) == 12);

  REQUIRE(pool.append(2, 20));  // takes 5, 6, 7, 3 and 2
  CHECK(pool.found(1) == 8);
  pool.release(2);
  pool.take_back(1);
  CHECK(pool.table(1) == Ids{0, 1});
  CHECK(pool.tokens(1) == 8);
  CHECK(pool.free_list() == FreeList{2, 3, 7, 6, 5, 4});
  CHECK(pool.found(1) == 0);
  CHECK(pool.found(2) == 24);
  REQUIRE(pool.append(1, 1));
  CHECK(pool.table(1) == Ids{0, 1, 2});
  CHECK_THROWS_AS(pool.take_back(1), InternalError);
}

TEST_CASE("a block freed again by another request does not hold what it held", "[paged_pool]") {
  PagedPool pool(2, 4);
  REQUIRE(pool.append(1, 8));
  pool.release(1);
  REQUIRE(pool.append(2, 8));
  pool.release(2);
  CHECK(pool.found(1) == 0);
  pool.take_back(1);
  CHECK(pool.table(1).empty());
  CHECK(pool.free() == 2);
}
