// The search against simulating everything.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/unit/plan/support.hpp"

using namespace tokenline;
using namespace tokenline::plan;
using namespace tokenline::plan_test;

namespace {

const Fleet* fleet_of(const Design& design, std::int64_t units) {
  const auto found = std::ranges::find(design.fleets, units, &Fleet::units);
  return found == design.fleets.end() ? nullptr : &*found;
}

/// Every statement of a plan about a size of a design holds where all of them were simulated.
void check_statements(const Design& said, const Design& all, std::int64_t seeds) {
  INFO(said.name << ": " << said.reason);
  for (const Fleet& fleet : all.fleets) {
    INFO(fleet.units << " units");
    if (fleet.units < said.least_units) CHECK_FALSE(fleet.passed);
    if (fleet.units <= said.misses_up_to) CHECK_FALSE(fleet.passed);
    if (const Fleet* same = fleet_of(said, fleet.units); same != nullptr && same->seeds == seeds)
      CHECK(fleet.passed == same->passed);
  }
}

}  // namespace

TEST_CASE("a plan finds what simulating everything finds, with a tenth of the simulated time",
          "[plan]") {
  const PlanFolder folder;
  const Plan plan = folder.load();
  const Result found = solve(plan, {.threads = 2});
  const Result all = solve(plan, {.threads = 2, .brute_force = true});
  REQUIRE(found.winner);
  CHECK(found.winner == all.winner);
  CHECK(found.winning_fleet()->units == all.winning_fleet()->units);
  for (std::size_t i = 0; i < all.designs.size(); ++i)
    check_statements(found.designs[i], all.designs[i], plan.seeds);
  CHECK(found.simulated_s <= 0.1 * all.simulated_s);
  CHECK(found.audits_passed);
}

TEST_CASE("with size_all every design has the smallest size that meets the SLOs with one seed",
          "[plan]") {
  const PlanFolder folder(with(small_plan, "seeds: 5", "seeds: 1\nsize_all: true"));
  const Plan plan = folder.load();
  const Result found = solve(plan, {.threads = 2});
  const Result all = solve(plan, {.threads = 2, .brute_force = true});
  for (std::size_t i = 0; i < all.designs.size(); ++i) {
    const Fleet* expected = all.designs[i].passing();
    const Fleet* sized = found.designs[i].passing();
    INFO(found.designs[i].name);
    REQUIRE((sized == nullptr) == (expected == nullptr));
    if (sized != nullptr) CHECK(sized->units == expected->units);
  }
}

TEST_CASE("a plan gives the same bytes for any number of threads", "[plan]") {
  const PlanFolder folder;
  const Plan plan = folder.load();
  const std::string one = plan_json(solve(plan, {.threads = 1}));
  CHECK(plan_json(solve(plan, {.threads = 3})) == one);
}

TEST_CASE("what nothing meets is said with the fleet that comes closest and what limits it",
          "[plan]") {
  const PlanFolder folder(with(small_plan, "p99_ttft(chat) < 600 ms", "p99_ttft(chat) < 28 ms"));
  const Result result = solve(folder.load(), {.threads = 2});
  CHECK_FALSE(result.winner);
  const std::string text = plan_text(result);
  CHECK(text.find("No fleet of this search space meets every SLO") != std::string::npos);
  CHECK(text.find("Closest: ") != std::string::npos);
  CHECK(text.find("% of it is ") != std::string::npos);
}

TEST_CASE("seeds that all pass bound the passing share from below", "[plan]") {
  // Clopper-Pearson with n of n: the p at which n of n has the probability 1 - confidence.
  for (const std::int64_t seeds : {1, 5, 29})
    CHECK(std::pow(passing_share(seeds, 0.95), static_cast<double>(seeds)) == Approx(0.05));
  CHECK(passing_share(29, 0.95) > 0.9);
  CHECK(passing_share(28, 0.95) < 0.9);
}
