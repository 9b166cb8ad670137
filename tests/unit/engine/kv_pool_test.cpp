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
