#include "sim/engine/kv_pool.hpp"

#include <catch2/catch.hpp>

using namespace tokenline;

TEST_CASE("a pool hands out what it has and no more", "[kv]") {
  KvPool pool(8);
  pool.allocate(5);
  CHECK(pool.free() == 3);
  CHECK_THROWS_AS(pool.allocate(4), InternalError);
  pool.release(2);
  pool.allocate(5);
  CHECK(pool.used() == 8);
  CHECK(pool.peak_used() == 8);
  CHECK_THROWS_AS(pool.release(9), InternalError);
  CHECK(pool.allocated() - pool.released() == pool.used());
}

TEST_CASE("kept blocks are handed out after those freed before them, the last of a table first",
          "[kv]") {
  KvPool pool(10);
  pool.allocate(8);  // 2 blank ones ahead
  pool.keep(1, 3);
  pool.release(1);
  pool.keep(2, 4);
  CHECK(pool.kept(1, 2) == 3);
  CHECK(pool.kept(1, 4) == 1);
  CHECK(pool.kept(1, 9) == 0);
  CHECK(pool.kept(2, 6) == 4);
  CHECK(pool.kept(2, 7) == 3);
  CHECK(pool.kept(3, 0) == 0);

  pool.allocate(4);
  CHECK(pool.kept(1, 0) == 1);
  CHECK(pool.overwritten() == 2);
  CHECK(pool.take_back(1) == 1);
  CHECK(pool.kept(2, 1) == 4);  // the blank one between them is the head now
  CHECK(pool.take_back(2) == 4);
  CHECK(pool.take_back(2) == 0);
  CHECK(pool.free() == 1);
  CHECK(pool.overwritten() == 2);
}

TEST_CASE("kept blocks are free blocks, and a cleared pool has forgotten them", "[kv]") {
  KvPool pool(4);
  pool.allocate(4);
  pool.keep(7, 3);
  CHECK(pool.free() == 3);
  pool.allocate(3);
  CHECK(pool.kept(7, 0) == 0);
  pool.keep(8, 2);
  pool.clear();
  CHECK(pool.free() == 4);
  CHECK(pool.kept(8, 0) == 0);
  CHECK(pool.overwritten() == 5);
  CHECK(pool.allocated() == pool.released());
}
