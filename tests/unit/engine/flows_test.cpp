// Flows over a network, against what max-min fairness gives by hand.
#include "sim/engine/flows.hpp"

#include <catch2/catch.hpp>
#include <map>

using namespace tokenline;

namespace {

/// Two nodes of eight GPUs whose NICs carry one flow's bytes at `bandwidth`.
struct World {
  World()
      : network({.nodes = 2,
                 .gpus_per_node = 8,
                 .node = hw::load_node_fabric("hgx_h100"),
                 .fabric = hw::load_inter_fabric("infiniband_ndr")}) {}

  void begin(std::uint32_t request, const hw::Path& path, std::int64_t bytes,
             std::optional<BytesPerSecond> produced = {}, Duration after = {}) {
    flows.begin({.request = request,
                 .path = &path,
                 .bytes = bytes,
                 .messages = 1,
                 .produced = produced,
                 .after = after});
  }
  [[nodiscard]] double ended_after(std::uint32_t request, const hw::Path& path) const {
    return to_seconds(ends.at(request) - TimePoint{}).value() - hw::startup_time(path, 1).value();
  }

  hw::Network network;
  Simulation simulation;
  std::map<std::uint32_t, TimePoint> ends;
  Flows flows{simulation, network,
              [this](std::uint32_t request, std::int64_t) { ends[request] = simulation.now(); }};
  hw::Path own = network.route(hw::gpu_at(0, 0), hw::gpu_at(1, 0));
  hw::Path other = network.route(hw::gpu_at(0, 1), hw::gpu_at(1, 1));
};

constexpr std::int64_t gigabyte = 1'000'000'000;

}  // namespace

TEST_CASE("a flow alone takes its start-up and bytes over bandwidth", "[transfer]") {
  World world;
  world.begin(1, world.own, gigabyte);
  world.simulation.run();
  CHECK(world.ended_after(1, world.own) == Approx(1e9 / world.own.bandwidth.value()).margin(2e-9));
  CHECK(world.flows.counts().begun == gigabyte);
  CHECK(world.flows.counts().delivered == gigabyte);
}

TEST_CASE("two flows on one link take twice as long, on two links no longer", "[transfer]") {
  World shared;
  shared.begin(1, shared.own, gigabyte);
  shared.begin(2, shared.own, gigabyte);
  shared.simulation.run();
  const double alone = 1e9 / shared.own.bandwidth.value();
  CHECK(shared.ended_after(1, shared.own) == Approx(2 * alone).margin(2e-9));
  CHECK(shared.ended_after(2, shared.own) == Approx(2 * alone).margin(2e-9));

  World apart;
  apart.begin(1, apart.own, gigabyte);
  apart.begin(2, apart.other, gigabyte);
  apart.simulation.run();
  CHECK(apart.ended_after(1, apart.own) == Approx(alone).margin(2e-9));
  CHECK(apart.ended_after(2, apart.other) == Approx(alone).margin(2e-9));
}

TEST_CASE("a flow that joins half-way slows the first one down from then on", "[transfer]") {
  World world;
  const double alone = 1e9 / world.own.bandwidth.value();
  world.begin(1, world.own, gigabyte);
  world.begin(2, world.own, gigabyte, {}, to_duration(Seconds(alone / 2)));
  world.simulation.run();
  // 1: half alone, half at half the rate; 2: as much meanwhile, then its other half alone.
  CHECK(world.ended_after(1, world.own) == Approx(1.5 * alone).margin(3e-9));
  CHECK(world.ended_after(2, world.own) == Approx(2.0 * alone).margin(3e-9));
}

TEST_CASE("what is produced meanwhile bounds a flow until the production is over", "[transfer]") {
  World world;
  const double bandwidth = world.own.bandwidth.value();
  world.begin(1, world.own, gigabyte, BytesPerSecond(bandwidth / 4));
  // After a time in which a quarter would have gone alone, a sixteenth has gone.
  const double quarter = 0.25e9 / bandwidth;
  const Duration lifted = to_duration(hw::startup_time(world.own, 1) + Seconds(quarter));
  world.simulation.after(lifted, Phase::completion, [&] { world.flows.lift(1); });
  world.simulation.run();
  CHECK(world.ended_after(1, world.own) ==
        Approx(quarter + 15.0 / 16.0 * 1e9 / bandwidth).margin(3e-9));
}

TEST_CASE("the bandwidth of a flow that is cancelled goes to the others", "[transfer]") {
  World world;
  const double alone = 1e9 / world.own.bandwidth.value();
  world.begin(1, world.own, gigabyte);
  world.begin(2, world.own, gigabyte);
  const Duration half = to_duration(hw::startup_time(world.own, 1) + Seconds(alone));
  world.simulation.after(half, Phase::completion, [&] { world.flows.cancel(2); });
  world.simulation.run();
  CHECK(world.ended_after(1, world.own) == Approx(1.5 * alone).margin(3e-9));
  CHECK_FALSE(world.ends.contains(2));
  CHECK(world.flows.counts().cancelled == gigabyte);
  CHECK(world.flows.counts().begun ==
        world.flows.counts().delivered + world.flows.counts().cancelled);
}

TEST_CASE("a flow that a brown-out meets goes on at what is left, until that is over",
          "[transfer]") {
  World world;
  const double bandwidth = world.own.bandwidth.value();
  const double before = 0.5e9 / bandwidth;  // Half of it at full rate,
  const double during = 1e9 / bandwidth;    // a fifth of it in twice that time,
  const Duration begin = to_duration(hw::startup_time(world.own, 1) + Seconds(before));
  const std::vector<hw::Brownout> brown{{.node = 1, .nic = 0, .bandwidth_factor = 0.2}};
  world.begin(1, world.own, gigabyte);
  world.begin(2, world.other, gigabyte);
  world.simulation.after(begin, Phase::completion, [&] {
    world.flows.set_capacities(hw::capacities(world.network.topology(), brown));
  });
  SECTION("which ends before it") {
    world.simulation.after(begin + to_duration(Seconds(during)), Phase::completion, [&] {
      world.flows.set_capacities(hw::capacities(world.network.topology(), {}));
    });
    world.simulation.run();
    CHECK(world.ended_after(1, world.own) ==
          Approx(before + during + 0.3e9 / bandwidth).margin(3e-9));
  }
  SECTION("or outlasts it") {
    world.simulation.run();
    CHECK(world.ended_after(1, world.own) == Approx(before + 0.5e9 / 0.2 / bandwidth).margin(3e-9));
  }
  // Another rail is none of it.
  CHECK(world.ended_after(2, world.other) == Approx(1e9 / bandwidth).margin(2e-9));
}
