#include "calib/reference/paged_attention.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <vector>

#include "sim/base/random.hpp"

using namespace tokenline;
using namespace tokenline::reference;

namespace {

Matrix rows_of(const Matrix& from, const std::vector<std::int64_t>& rows) {
  Matrix some(static_cast<std::int64_t>(rows.size()), from.columns());
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::ranges::copy(from.row(rows[i]), some.row(static_cast<std::int64_t>(i)).begin());
  return some;
}

}  // namespace

TEST_CASE("KV gathered through a block table is what was stored, bit for bit",
          "[paged_attention]") {
  // Requests come, grow and go at random, so that tables are scattered.
  const std::int64_t width = 6;
  const Matrix keys = random_matrix(2000, width, 1.0, 3, 0);
  const Matrix values = random_matrix(2000, width, 1.0, 3, 1);
  const Matrix q = random_matrix(3, width, 1.0, 3, 2);
  for (const std::int64_t block_size : {1, 3, 16}) {
    PagedCache cache(96 / block_size, block_size, width);
    RandomStream dice(3, "dice", static_cast<std::uint64_t>(block_size));
    std::map<std::int64_t, std::vector<std::int64_t>> stored;
    std::int64_t scattered = 0;
    for (std::int64_t token = 0; token < 2000; ++token) {
      const std::int64_t request = dice() % 5;
      if (dice() % 40 == 0 && stored.contains(request)) {
        cache.release(request);
        stored.erase(request);
      }
      if (!cache.append(request, keys.row(token), values.row(token))) continue;
      stored[request].push_back(token);
      const auto table = cache.pool().table(request);
      if (table.size() > 1 && table[1] != table[0] + 1) ++scattered;
      if (token % 10 != 0) continue;
      const Matrix own_keys = rows_of(keys, stored[request]);
      const Matrix own_values = rows_of(values, stored[request]);
      REQUIRE(cache.gathered_keys(request) == own_keys);
      REQUIRE(cache.gathered_values(request) == own_values);
      const AttentionProblem contiguous{q, own_keys, own_values, false, {}};
      const Matrix o = cache.attention(request, q);
      // The same blocks of keys in the same order: the same bits.
      REQUIRE(o == flash_attention_2(contiguous, {1, block_size}).o);
      REQUIRE(largest_difference(o, standard_attention(contiguous).o) < 1e-12);
    }
    CHECK(scattered > 100);
  }
}

TEST_CASE("a token without a free block is refused and changes nothing", "[paged_attention]") {
  PagedCache cache(1, 2, 1);
  const std::vector<double> value{1.0};
  CHECK(cache.append(1, value, value));
  CHECK(cache.append(1, value, value));
  CHECK_FALSE(cache.append(1, value, value));
  CHECK(cache.pool().tokens(1) == 2);
  CHECK(cache.gathered_keys(1).rows() == 2);
}
