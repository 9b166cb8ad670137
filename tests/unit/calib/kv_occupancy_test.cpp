#include "calib/reference/kv_occupancy.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/base/random.hpp"

using namespace tokenline;
using namespace tokenline::reference;

namespace {

std::vector<KvDemand> demands(std::int64_t count, std::uint32_t prompts, std::uint32_t outputs) {
  RandomStream dice(11, "demands", 0);
  std::vector<KvDemand> all;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t prompt = 1 + dice() % prompts;
    const std::int64_t output = 1 + dice() % outputs;
    all.push_back({prompt, output});
  }
  return all;
}

constexpr std::int64_t places = 8192;
constexpr std::int64_t longest = 1024;

KvOccupancy use(const std::vector<KvDemand>& requests, KvLayout layout,
                std::int64_t block_size = 16) {
  return kv_occupancy(requests, layout, places, longest, block_size);
}

}  // namespace

TEST_CASE("every place is stored in, handed out, cut off or free", "[kv_occupancy]") {
  const auto requests = demands(300, 200, 400);
  for (const KvLayout layout :
       {KvLayout::longest, KvLayout::power_of_two, KvLayout::exact, KvLayout::paged}) {
    const KvOccupancy mean = use(requests, layout);
    CHECK(mean.stored + mean.internal + mean.external + mean.free == Approx(8192.0));
    for (const double part : {mean.stored, mean.internal, mean.external, mean.free})
      CHECK(part >= 0.0);
  }
}

TEST_CASE("reservations for the longest request run places / longest of them", "[kv_occupancy]") {
  const KvOccupancy mean = use(demands(200, 200, 400), KvLayout::longest);
  CHECK(mean.running == 8.0);
  CHECK(mean.free + mean.external == 0.0);
  CHECK(mean.preemptions == 0);
}

TEST_CASE("equal requests in step: the closed form of what is empty", "[kv_occupancy]") {
  // All are admitted together, grow from 100 to 164 and leave together: of 164 reserved places on
  // the mean over a life 64 - 31.5 are empty, and of 8192 places 8192 mod 164 are cut off.
  const std::vector<KvDemand> requests(500, KvDemand{100, 64});
  const KvOccupancy mean = use(requests, KvLayout::exact);
  CHECK(mean.running == 49.0);
  CHECK(mean.internal == Approx(49 * (64 - 31.5)));
  CHECK(mean.external == 8192 - 49 * 164);
  CHECK(mean.steps == 11 * 64);
}

TEST_CASE("blocks leave (size - 1) / 2 places of a request empty and none cut off",
          "[kv_occupancy]") {
  const auto requests = demands(600, 200, 400);
  for (const std::int64_t block_size : {1, 16, 32}) {
    const KvOccupancy mean = use(requests, KvLayout::paged, block_size);
    const double by_hand = mean.running * 0.5 * static_cast<double>(block_size - 1);
    CHECK(mean.internal == Approx(by_hand).epsilon(0.05).margin(1e-9));
    CHECK(mean.external == 0.0);
  }
}

TEST_CASE("the less is reserved ahead, the more tokens are stored", "[kv_occupancy]") {
  const auto requests = demands(600, 200, 400);
  double last = 0.0;
  for (const KvLayout layout :
       {KvLayout::longest, KvLayout::power_of_two, KvLayout::exact, KvLayout::paged}) {
    const KvOccupancy mean = use(requests, layout);
    CHECK(mean.stored > last);
    last = mean.stored;
  }
}

TEST_CASE("a preempted request starts over and every request ends", "[kv_occupancy]") {
  // Two requests that grow to all of the memory: one of them must start over.
  const std::vector<KvDemand> requests(2, KvDemand{1, 63});
  const KvOccupancy mean = kv_occupancy(requests, KvLayout::paged, 64, 64, 1);
  CHECK(mean.preemptions >= 1);
  CHECK(mean.steps > 63);
}

TEST_CASE("a request that fits in no memory is our bug", "[kv_occupancy]") {
  const std::vector<KvDemand> requests(1, KvDemand{65, 1});
  CHECK_THROWS_AS(kv_occupancy(requests, KvLayout::exact, 64, 64, 16), InternalError);
}
