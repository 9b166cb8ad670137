#include <catch2/catch.hpp>

#include "hwmodels/network/fair_share.hpp"
#include "hwmodels/network/network.hpp"
#include "sim/base/check.hpp"
#include "tests/unit/hwmodels/network_builders.hpp"

using namespace tokenline;
using namespace tokenline::hw;

namespace {

using Uses = std::vector<CapacityId>;

std::vector<double> rates(const std::vector<double>& capacities, const std::vector<Uses>& uses,
                          std::vector<double> weights = {}) {
  weights.resize(uses.size(), 1.0);
  std::vector<BytesPerSecond> limits(capacities.begin(), capacities.end());
  std::vector<FlowDemand> flows;
  flows.reserve(uses.size());
  for (std::size_t i = 0; i < uses.size(); ++i)
    flows.push_back({.uses = uses[i], .weight = weights[i]});
  std::vector<double> values;
  for (const BytesPerSecond rate : fair_rates(limits, flows)) values.push_back(rate.value());
  return values;
}

}  // namespace

TEST_CASE("flows over one bottleneck share it equally, or by weight", "[network]") {
  CHECK(rates({12.0}, {{0}, {0}, {0}}) == std::vector{4.0, 4.0, 4.0});
  CHECK(rates({12.0}, {{0}, {0}, {0}}, {1.0, 2.0, 3.0}) == std::vector{2.0, 4.0, 6.0});
}

TEST_CASE("a flow alone gets the least capacity on its way", "[network]") {
  CHECK(rates({5.0, 3.0, 9.0}, {{0, 1, 2}}) == std::vector{3.0});
  CHECK(rates({5.0}, {}).empty());
}

TEST_CASE("in a parking lot the long flow gets as much as each short one", "[network]") {
  // One flow over three links of capacity 1, beside one flow on each of them.
  CHECK(rates({1.0, 1.0, 1.0}, {{0, 1, 2}, {0}, {1}, {2}}) == std::vector{0.5, 0.5, 0.5, 0.5});
}

TEST_CASE("what a flow cannot use at its bottleneck others take", "[network]") {
  // Bertsekas and Gallager, figure 6.11 in small: link 0 of 1 carries a, b, c; link 1 of 2 carries
  // c, d. a = b = c = 1/3, so that d has 2 − 1/3.
  const auto r = rates({1.0, 2.0}, {{0}, {0}, {0, 1}, {1}});
  CHECK(r[0] == Approx(1.0 / 3.0));
  CHECK(r[2] == Approx(1.0 / 3.0));
  CHECK(r[3] == Approx(5.0 / 3.0));
}

TEST_CASE("crossing flows settle level by level", "[network]") {
  // Links of 10, 16 and 30: x over all, y over 0, z over 1, w over 2. x = y = 5 on link 0, then
  // z = 11, then w = 25.
  CHECK(rates({10.0, 16.0, 30.0}, {{0, 1, 2}, {0}, {1}, {2}}) == std::vector{5.0, 5.0, 11.0, 25.0});
}

TEST_CASE("weights hold at every level", "[network]") {
  // Link 0 of 9 carries a (weight 2) and b (1): 3 per weight, 6 and 3. Link 1 of 30 carries b and
  // c (5), 5 per weight, so that it settles later: c gets what b leaves, 27.
  CHECK(rates({9.0, 30.0}, {{0}, {0, 1}, {1}}, {2.0, 1.0, 5.0}) == std::vector{6.0, 3.0, 27.0});
}

TEST_CASE("four GPUs behind one NIC have a quarter of it, behind four NICs all of one",
          "[network]") {
  const auto slowest = [](const Network& network) {
    std::vector<Path> paths(4);
    std::vector<FlowDemand> flows(4);
    for (std::size_t i = 0; i < 4; ++i) {
      const auto gpu = static_cast<std::int64_t>(i);
      paths[i] = network.route(gpu_at(0, gpu), gpu_at(1, gpu));
      flows[i].uses = paths[i].uses;
    }
    return std::ranges::min(fair_rates(network.capacities(), flows)).value();
  };
  CHECK(slowest(Network(round_design())) == 10.0);
  CHECK(slowest(Network(round_design(2, shared_nic_fabric()))) == 2.5);
}

TEST_CASE("copies in both directions share what the cable gives them together", "[network]") {
  const Network network(round_design());
  const Path to = network.route(memory_at(0), gpu_at(0, 0));
  const Path from = network.route(gpu_at(0, 0), memory_at(0));
  const std::vector<FlowDemand> both{{.uses = to.uses}, {.uses = from.uses}};
  CHECK(fair_rates(network.capacities(), std::span(both).first(1)).front().value() == 100.0);
  for (const BytesPerSecond rate : fair_rates(network.capacities(), both))
    CHECK(rate.value() == 75.0);
}

TEST_CASE("a flow without a way, and a weight out of range, are our bugs", "[network]") {
  CHECK_THROWS_AS(rates({1.0}, {{}}), InternalError);
  CHECK_THROWS_AS(rates({1.0}, {{0}}, {0.0}), InternalError);
  CHECK_THROWS_AS(rates({1.0}, {{7}}), InternalError);
}
