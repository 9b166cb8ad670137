#include "calib/reference/batching.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/base/random.hpp"

using namespace tokenline;
using namespace tokenline::reference;

TEST_CASE("sixteen outputs in four slots: 140 steps in static batches, 111 in continuous ones",
          "[batching]") {
  const std::vector<std::int64_t> outputs{12, 25, 37, 37, 11, 19, 40, 31,
                                          40, 36, 33, 20, 5,  10, 12, 23};
  const BatchingResult fixed = static_batching(outputs, 4);
  const BatchingResult refilled = continuous_batching(outputs, 4);
  CHECK(fixed.tokens == 391);
  CHECK(fixed.steps == 37 + 40 + 40 + 23);
  CHECK(refilled.steps == 111);
  CHECK(fixed.tokens_per_step() == Approx(2.79).epsilon(0.002));
  CHECK(refilled.tokens_per_step() == Approx(3.52).epsilon(0.002));
  CHECK(1.0 - 111.0 / 140.0 == Approx(0.2071).epsilon(0.001));
  CHECK(fixed.utilization() == Approx(391.0 / (4 * 140)));
  CHECK(fewest_steps(outputs, 4) == 98);
}

TEST_CASE("one slot, as many slots as outputs, and equal outputs leave nothing to gain",
          "[batching]") {
  const std::vector<std::int64_t> outputs{3, 1, 4, 1, 5};
  CHECK(static_batching(outputs, 1).steps == 14);
  CHECK(continuous_batching(outputs, 1).steps == 14);
  CHECK(static_batching(outputs, 5).steps == 5);
  CHECK(continuous_batching(outputs, 9).steps == 5);
  const std::vector<std::int64_t> equal(12, 7);
  CHECK(static_batching(equal, 4).steps == 21);
  CHECK(continuous_batching(equal, 4).steps == 21);
}

TEST_CASE("continuous batching takes the fewest steps and a longest output more, at most",
          "[batching]") {
  // List scheduling: Graham's bound, (Σ − longest) / slots + longest; and never more than static.
  RandomStream dice(5, "outputs", 0);
  for (std::int64_t round = 0; round < 300; ++round) {
    std::vector<std::int64_t> outputs(1 + dice() % 30);
    for (std::int64_t& tokens : outputs) tokens = 1 + dice() % 50;
    const std::int64_t slots = 1 + dice() % 8;
    const std::int64_t steps = continuous_batching(outputs, slots).steps;
    const std::int64_t longest = *std::ranges::max_element(outputs);
    const std::int64_t tokens = std::accumulate(outputs.begin(), outputs.end(), std::int64_t{0});
    REQUIRE(steps >= fewest_steps(outputs, slots));
    REQUIRE(slots * (steps - longest) <= tokens - longest);
    REQUIRE(steps <= static_batching(outputs, slots).steps);
  }
}

TEST_CASE("no outputs, or no slots, are our bug", "[batching]") {
  CHECK_THROWS_AS(static_batching({}, 4), InternalError);
  const std::vector<std::int64_t> outputs{1};
  CHECK_THROWS_AS(continuous_batching(outputs, 0), InternalError);
}
