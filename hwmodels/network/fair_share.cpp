#include "hwmodels/network/fair_share.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>

#include "sim/base/check.hpp"

namespace tokenline::hw {
namespace {

/// A capacity that some flow uses.
struct Bottleneck {
  CapacityId id = 0;
  double left = 0.0;    ///< Not taken by settled flows.
  double weight = 0.0;  ///< Of flows that are not settled.
  std::uint32_t unsettled = 0;
  std::uint32_t flows_end = 0;  ///< Where its flows end in Competition::flows_by_bottleneck.

  [[nodiscard]] double share() const { return std::max(left, 0.0) / weight; }
};

/// Who competes for what, in flat tables: the capacities in use, the places among them that each
/// flow uses, and the flows that use each.
struct Competition {
  std::vector<Bottleneck> bottlenecks;
  std::vector<std::uint32_t> places;      ///< Of the uses of flow 0, then of flow 1, ….
  std::vector<std::uint32_t> places_end;  ///< Where those of each flow end.
  std::vector<std::uint32_t> flows_by_bottleneck;

  [[nodiscard]] std::span<const std::uint32_t> places_of(std::size_t flow) const {
    const std::uint32_t begin = flow == 0 ? 0 : places_end[flow - 1];
    return std::span(places).subspan(begin, places_end[flow] - begin);
  }
  [[nodiscard]] std::span<const std::uint32_t> flows_of(std::size_t bottleneck) const {
    const std::uint32_t begin = bottleneck == 0 ? 0 : bottlenecks[bottleneck - 1].flows_end;
    return std::span(flows_by_bottleneck).subspan(begin, bottlenecks[bottleneck].flows_end - begin);
  }
};

void add_uses(Competition& all, std::span<const BytesPerSecond> capacities,
              std::span<const FlowDemand> flows) {
  constexpr auto none = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> place(capacities.size(), none);
  for (const FlowDemand& flow : flows) {
    // Why: sums from which weights are taken away again keep their meaning within this range.
    TOKENLINE_CHECK(!flow.uses.empty() && flow.weight >= 1e-3 && flow.weight <= 1e3,
                    "a flow of {} uses, weight {}", flow.uses.size(), flow.weight);
    for (const CapacityId id : flow.uses) {
      TOKENLINE_CHECK(id < capacities.size(), "no capacity {}", id);
      if (place[id] == none) {
        place[id] = static_cast<std::uint32_t>(all.bottlenecks.size());
        all.bottlenecks.push_back({.id = id, .left = capacities[id].value()});
      }
      all.bottlenecks[place[id]].weight += flow.weight;
      ++all.bottlenecks[place[id]].unsettled;
      all.places.push_back(place[id]);
    }
    all.places_end.push_back(static_cast<std::uint32_t>(all.places.size()));
  }
}

Competition competition(std::span<const BytesPerSecond> capacities,
                        std::span<const FlowDemand> flows) {
  Competition all;
  add_uses(all, capacities, flows);
  std::uint32_t end = 0;
  for (Bottleneck& bottleneck : all.bottlenecks) {
    bottleneck.flows_end = end;  // Where its flows begin; the loop below moves it to their end.
    end += bottleneck.unsettled;
  }
  all.flows_by_bottleneck.resize(end);
  for (std::uint32_t flow = 0; flow < flows.size(); ++flow)
    for (const std::uint32_t place : all.places_of(flow))
      all.flows_by_bottleneck[all.bottlenecks[place].flows_end++] = flow;
  return all;
}

}  // namespace

std::vector<BytesPerSecond> fair_rates(std::span<const BytesPerSecond> capacities,
                                       std::span<const FlowDemand> flows) {
  Competition all = competition(capacities, flows);
  // Share when it was put in; id, so that equals settle in an order without regard to flows; place.
  using Entry = std::tuple<double, CapacityId, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (std::uint32_t i = 0; i < all.bottlenecks.size(); ++i)
    queue.emplace(all.bottlenecks[i].share(), all.bottlenecks[i].id, i);
  std::vector<BytesPerSecond> rates(flows.size());
  while (!queue.empty()) {
    const auto [share, id, place] = queue.top();
    queue.pop();
    if (all.bottlenecks[place].unsettled == 0) continue;
    // Why: where rounding makes a share fall, the one that was put in stands. So the rates of
    // settled flows never fall, and none is 0.
    const double now = all.bottlenecks[place].share();
    if (now > share) {
      queue.emplace(now, id, place);
      continue;
    }
    for (const std::uint32_t flow : all.flows_of(place)) {
      if (rates[flow] > BytesPerSecond()) continue;  // Settled.
      rates[flow] = BytesPerSecond(share * flows[flow].weight);
      for (const std::uint32_t passed : all.places_of(flow)) {
        all.bottlenecks[passed].left -= rates[flow].value();
        all.bottlenecks[passed].weight -= flows[flow].weight;
        --all.bottlenecks[passed].unsettled;
      }
    }
  }
  return rates;
}

}  // namespace tokenline::hw
