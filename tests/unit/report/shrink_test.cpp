// The smallest set that still breaks, without any simulation.
#include "sim/report/shrink.hpp"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <numeric>

using namespace tokenline::report;

namespace {

using Breaks = std::function<bool(const Subset&)>;

constexpr std::int64_t plenty = 1'000'000'000;

bool holds(const Subset& subset, const Subset& wanted) {
  return std::ranges::includes(subset, wanted);
}

Shrunk shrunk(std::size_t count, const Breaks& breaks, std::size_t threads = 1,
              std::int64_t budget = plenty) {
  const std::vector<std::uint32_t> kinds(count);
  return shrink(kinds, breaks, {.threads = threads, .budget = budget});
}

/// Without any one of its elements it no longer breaks.
bool is_one_minimal(const Subset& kept, const Breaks& breaks) {
  for (const std::uint32_t place : kept) {
    Subset rest = kept;
    std::erase(rest, place);
    if (!rest.empty() && breaks(rest)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("a planted set is what is left, wherever it lies", "[shrink]") {
  for (const Subset& planted :
       {Subset{0}, Subset{999}, Subset{500}, Subset{3, 4}, Subset{0, 999}, Subset{1, 250, 251, 777},
        Subset{10, 110, 210, 310, 410, 510, 610}}) {
    const Breaks breaks = [&](const Subset& subset) { return holds(subset, planted); };
    const Shrunk result = shrunk(1000, breaks);
    CHECK(result.kept == planted);
    CHECK(result.one_minimal);
    CHECK(result.effort.kept == planted.size());
  }
}

TEST_CASE("one element is found by halving", "[shrink]") {
  const Shrunk result =
      shrunk(1 << 20, [](const Subset& subset) { return holds(subset, {(1 << 20) - 1}); });
  CHECK(result.kept == Subset{(1 << 20) - 1});
  // The last half is the second that is tested: 2 tests for each of 20 halvings.
  CHECK(result.effort.tests == 40);
}

TEST_CASE("what is left is 1-minimal where fewer may break than more", "[shrink]") {
  // An odd number of multiples of seven: not monotone.
  const Breaks odd = [](const Subset& subset) {
    return std::ranges::count_if(subset, [](std::uint32_t i) { return i % 7 == 0; }) % 2 == 1;
  };
  // A sum that many subsets reach.
  const Breaks heavy = [](const Subset& subset) {
    return std::accumulate(subset.begin(), subset.end(), 0U) >= 2500;
  };
  for (const Breaks& breaks : {odd, heavy}) {
    const Shrunk result = shrunk(99, breaks);
    CHECK(breaks(result.kept));
    CHECK(result.one_minimal);
    CHECK(is_one_minimal(result.kept, breaks));
  }
}

TEST_CASE("whole kinds go before single elements", "[shrink]") {
  std::vector<std::uint32_t> kinds(1024);
  for (std::size_t i = 0; i < kinds.size(); ++i) kinds[i] = i % 64 == 0 ? 1 : 0;
  // All sixteen of kind 1: halves do not break, ends cannot go but for what lies behind the last.
  const Breaks breaks = [&](const Subset& subset) {
    return std::ranges::count_if(subset, [&](std::uint32_t i) { return kinds[i] == 1; }) == 16;
  };
  const Shrunk result = shrink(kinds, breaks, {.threads = 1, .budget = plenty});
  CHECK(result.kept.size() == 16);
  CHECK(result.one_minimal);
  CHECK(result.effort.tests < 120);
}

TEST_CASE("the number of threads changes neither the result nor its effort", "[shrink]") {
  const Breaks breaks = [](const Subset& subset) {
    return std::accumulate(subset.begin(), subset.end(), 0U) % 11 == 3 ||
           holds(subset, {100, 200, 300});
  };
  for (const std::int64_t budget : {std::int64_t{3000}, plenty}) {
    const Shrunk one = shrunk(400, breaks, 1, budget);
    for (const std::size_t threads : {2U, 3U, 8U}) {
      const Shrunk several = shrunk(400, breaks, threads, budget);
      CHECK(several.kept == one.kept);
      CHECK(several.effort.tests == one.effort.tests);
      CHECK(several.effort.tested == one.effort.tested);
      CHECK(several.one_minimal == one.one_minimal);
    }
  }
}

TEST_CASE("the budget ends the search with what still breaks", "[shrink]") {
  std::atomic<std::int64_t> tested{0};
  const Breaks breaks = [&](const Subset& subset) {
    tested += std::ssize(subset);
    return subset.size() >= 90;
  };
  const Shrunk result = shrunk(100, breaks, 1, 2000);
  CHECK(breaks(result.kept));
  CHECK_FALSE(result.one_minimal);
  CHECK(result.effort.tested <= 2000);
  CHECK(tested == result.effort.tested + std::ssize(result.kept));
}

TEST_CASE("a single element is its own result", "[shrink]") {
  const Shrunk result = shrunk(1, [](const Subset&) { return true; });
  CHECK(result.kept == Subset{0});
  CHECK(result.one_minimal);
  CHECK(result.effort.tests == 0);
}
