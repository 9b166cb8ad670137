#include <catch2/catch.hpp>
// rapidcheck's Catch integration needs Catch first.
#include <rapidcheck/catch.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "hwmodels/network/fair_share.hpp"
#include "hwmodels/network/network.hpp"
#include "hwmodels/network/transfer.hpp"

using namespace tokenline;
using namespace tokenline::hw;

namespace {

/// Flows over a few links of capacities from 1 to 1,000.
struct Traffic {
  std::vector<BytesPerSecond> capacities;
  std::vector<std::vector<CapacityId>> uses;
  std::vector<double> weights;

  [[nodiscard]] std::vector<FlowDemand> flows() const {
    std::vector<FlowDemand> all;
    for (std::size_t i = 0; i < uses.size(); ++i)
      all.push_back({.uses = uses[i], .weight = weights[i]});
    return all;
  }
  [[nodiscard]] std::vector<BytesPerSecond> rates() const {
    return fair_rates(capacities, flows());
  }
  /// Bytes per second of all flows on a link.
  [[nodiscard]] double load(const std::vector<BytesPerSecond>& rates, CapacityId link) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < uses.size(); ++i)
      if (std::ranges::count(uses[i], link) > 0) sum += rates[i].value();
    return sum;
  }
};

Traffic any_traffic() {
  Traffic traffic;
  const auto links = *rc::gen::inRange<CapacityId>(1, 12);
  for (CapacityId i = 0; i < links; ++i)
    traffic.capacities.emplace_back(static_cast<double>(*rc::gen::inRange(1, 1'000)));
  for (int n = *rc::gen::inRange(1, 30); n > 0; --n) {
    // At least the first of its links, and each of the others or not.
    std::set<CapacityId> some{*rc::gen::inRange<CapacityId>(0, links)};
    for (CapacityId link = 0; link < links; ++link)
      if (*rc::gen::arbitrary<bool>()) some.insert(link);
    traffic.uses.emplace_back(some.begin(), some.end());
    traffic.weights.push_back(static_cast<double>(*rc::gen::inRange(1, 64)) / 8.0);
  }
  return traffic;
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), 1e-300); }

}  // namespace

TEST_CASE("no link carries more than its capacity, and no flow is without a rate", "[network]") {
  rc::prop("for any flows", [] {
    const Traffic traffic = any_traffic();
    const auto rates = traffic.rates();
    for (CapacityId link = 0; link < traffic.capacities.size(); ++link)
      RC_ASSERT(traffic.load(rates, link) <= traffic.capacities[link].value() * (1 + 1e-12));
    for (const BytesPerSecond rate : rates) RC_ASSERT(rate.value() > 0.0);
  });
}

TEST_CASE("every flow uses a full link on which none has more for its weight", "[network]") {
  // This is what max-min fair means: no rate can grow but at the cost of one that is no larger.
  rc::prop("for any flows", [] {
    const Traffic traffic = any_traffic();
    const auto rates = traffic.rates();
    for (std::size_t i = 0; i < rates.size(); ++i) {
      const auto bottleneck = [&](CapacityId link) {
        if (!near(traffic.load(rates, link), traffic.capacities[link].value())) return false;
        for (std::size_t j = 0; j < rates.size(); ++j) {
          if (std::ranges::count(traffic.uses[j], link) == 0) continue;
          const double other = rates[j].value() / traffic.weights[j];
          if (other > rates[i].value() / traffic.weights[i] * (1 + 1e-9)) return false;
        }
        return true;
      };
      RC_ASSERT(std::ranges::any_of(traffic.uses[i], bottleneck));
    }
  });
}

TEST_CASE("rates do not depend on the order of flows", "[network]") {
  rc::prop("turned around", [] {
    const Traffic traffic = any_traffic();
    Traffic turned = traffic;
    std::ranges::reverse(turned.uses);
    std::ranges::reverse(turned.weights);
    const auto rates = traffic.rates();
    auto others = turned.rates();
    std::ranges::reverse(others);
    for (std::size_t i = 0; i < rates.size(); ++i)
      RC_ASSERT(near(rates[i].value(), others[i].value()));
  });
}

TEST_CASE("twice the capacity is twice the rate, and weights matter only by their ratios",
          "[network]") {
  rc::prop("for any flows", [] {
    const Traffic traffic = any_traffic();
    Traffic wide = traffic;
    for (BytesPerSecond& capacity : wide.capacities) capacity *= 2.0;
    for (double& weight : wide.weights) weight *= 4.0;
    const auto rates = traffic.rates();
    const auto twice = wide.rates();
    for (std::size_t i = 0; i < rates.size(); ++i)
      RC_ASSERT(near(2.0 * rates[i].value(), twice[i].value()));
  });
}

TEST_CASE("when a flow leaves, the slowest of the others becomes no slower", "[network]") {
  rc::prop("for any flows", [] {
    Traffic traffic = any_traffic();
    if (traffic.uses.size() < 2) return;
    const auto before = traffic.rates();
    traffic.uses.pop_back();
    traffic.weights.pop_back();
    const auto after = traffic.rates();
    const auto least = [&](const auto& rates) {
      double value = std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < traffic.uses.size(); ++i)
        value = std::min(value, rates[i].value() / traffic.weights[i]);
      return value;
    };
    RC_ASSERT(least(after) >= least(before) * (1 - 1e-9));
  });
}

TEST_CASE("transfers driven by events pass all their bytes, each no faster than alone",
          "[network]") {
  rc::prop("for any sizes", [] {
    const Traffic traffic = any_traffic();
    std::vector<ActiveTransfer> active;
    std::vector<double> alone;
    for (std::size_t i = 0; i < traffic.uses.size(); ++i) {
      const auto bytes = static_cast<double>(*rc::gen::inRange(1, 100'000));
      active.push_back({traffic.uses[i], Bytes(bytes), traffic.weights[i]});
      BytesPerSecond least = traffic.capacities[traffic.uses[i].front()];
      for (const CapacityId use : traffic.uses[i]) least = std::min(least, traffic.capacities[use]);
      alone.push_back(bytes / least.value());
    }
    double now = 0.0;
    std::vector<double> ends(active.size());
    std::vector<std::size_t> ids(active.size());
    std::iota(ids.begin(), ids.end(), std::size_t{0});
    for (std::size_t events = 0; !active.empty(); ++events) {
      RC_ASSERT(events <= ends.size());
      const TransferProgress step = progress(traffic.capacities, active);
      advance(active, step.rates, step.next);
      now += step.next.value();
      RC_ASSERT(active[step.first].remaining == Bytes());
      for (std::size_t i = active.size(); i-- > 0;) {
        RC_ASSERT(active[i].remaining >= Bytes());
        if (active[i].remaining > Bytes()) continue;
        ends[ids[i]] = now;
        active.erase(active.begin() + static_cast<std::ptrdiff_t>(i));
        ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    for (std::size_t i = 0; i < ends.size(); ++i)
      RC_ASSERT(ends[i] >= alone[i] * (1 - 1e-9) - 1e-8);
  });
}

TEST_CASE("a path is a chain of links from end to end that no link repeats", "[network]") {
  rc::prop("in any cluster", [] {
    const auto pick = [](const std::vector<std::string>& names) {
      return *rc::gen::elementOf(names);
    };
    ClusterDesign design;
    design.node = load_node_fabric(pick(node_fabric_names()));
    InterFabric fabric = load_inter_fabric(pick(inter_fabric_names()));
    fabric.nodes_per_leaf = *rc::gen::inRange(1, 4);
    design.fabric = fabric;
    design.nodes = *rc::gen::inRange(1, 6);
    design.gpus_per_node = *rc::gen::inRange(1, 9);
    if (!first_refusal(design).empty()) return;
    const Network network(design);
    const auto end = [&]() -> Vertex {
      const auto node = *rc::gen::inRange<std::int64_t>(0, design.nodes);
      const int kind = *rc::gen::inRange(0, 4);
      if (kind == 0) return memory_at(node);
      if (kind == 1) return nvme_at(node);
      return gpu_at(node, *rc::gen::inRange<std::int64_t>(0, design.gpus_per_node));
    };
    const Vertex from = end();
    const Vertex to = end();
    if (from == to) return;
    const Path path = network.route(from, to);
    const Topology& topology = network.topology();
    Vertex at = from;
    Seconds latency;
    for (const CapacityId link : path.links) {
      RC_ASSERT(topology.vertices[topology.links[link].from] == at);
      at = topology.vertices[topology.links[link].to];
      latency += topology.links[link].latency;
    }
    RC_ASSERT(at == to);
    RC_ASSERT(latency == path.latency);
    RC_ASSERT(std::set(path.links.begin(), path.links.end()).size() == path.links.size());
    RC_ASSERT(std::ranges::is_sorted(path.uses));
    const std::vector<FlowDemand> alone{{.uses = path.uses}};
    RC_ASSERT(fair_rates(network.capacities(), alone).front() == path.bandwidth);
  });
}
