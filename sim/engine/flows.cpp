#include "sim/engine/flows.hpp"

#include <utility>

#include "sim/base/integer.hpp"

namespace tokenline {

Flows::Flows(Simulation& simulation, const hw::Network& network, Ended ended)
    : simulation_(simulation),
      of_network_(network.capacities().begin(), network.capacities().end()),
      ended_(std::move(ended)) {}

void Flows::begin(const Flow& flow) {
  const std::uint64_t number = next_number_++;
  flows_.emplace(number, UnderWay{.flow = flow,
                                  .started = false,
                                  .remaining = Bytes(real(flow.bytes)),
                                  .uses = flow.path->uses});
  counts_.begun += flow.bytes;
  const Duration startup = to_duration(hw::startup_time(*flow.path, flow.messages));
  simulation_.after(flow.after + startup, Phase::completion, [this, number] {
    const auto found = flows_.find(number);
    if (found == flows_.end()) return;  // cancelled
    found->second.started = true;
    change();
  });
}

void Flows::lift(std::uint32_t request) {
  for (auto& [number, under_way] : flows_)
    if (under_way.flow.request == request) under_way.flow.produced.reset();
  change();
}

void Flows::set_capacities(std::vector<BytesPerSecond> capacities) {
  of_network_ = std::move(capacities);
  change();
}

void Flows::cancel(std::uint32_t request) {
  settle();
  std::erase_if(flows_, [&](const auto& entry) {
    if (entry.second.flow.request != request) return false;
    counts_.cancelled += entry.second.flow.bytes;
    return true;
  });
  active_.clear();
  rates_.clear();
  change();
}

void Flows::change() {
  if (changing_) return;
  changing_ = true;
  simulation_.at(simulation_.now(), Phase::completion, [this] { recompute(); });
}

void Flows::settle() {
  std::vector<hw::ActiveTransfer> transfers;
  transfers.reserve(active_.size());
  for (const std::uint64_t number : active_) {
    const UnderWay& under_way = flows_.at(number);
    transfers.push_back({.uses = under_way.uses, .remaining = under_way.remaining});
  }
  hw::advance(transfers, rates_, to_seconds(simulation_.now() - settled_));
  for (std::size_t i = 0; i < active_.size(); ++i)
    flows_.at(active_[i]).remaining = transfers[i].remaining;
  settled_ = simulation_.now();
}

std::vector<Flows::Flow> Flows::take_ended() {
  std::vector<Flow> ended;
  std::erase_if(flows_, [&](const auto& entry) {
    const UnderWay& under_way = entry.second;
    if (!under_way.started || under_way.remaining > Bytes(0.0)) return false;
    ended.push_back(under_way.flow);
    counts_.delivered += under_way.flow.bytes;
    return true;
  });
  return ended;
}

void Flows::recompute() {
  changing_ = false;
  settle();
  const std::vector<Flow> ended = take_ended();
  set_rates();
  for (const Flow& flow : ended) ended_(flow.request, flow.bytes);
}

void Flows::set_rates() {
  ++generation_;
  active_.clear();
  rates_.clear();
  capacities_ = of_network_;
  std::vector<hw::ActiveTransfer> transfers;
  for (auto& [number, under_way] : flows_) {
    if (!under_way.started) continue;
    // A sender that is still producing is a link of its own.
    under_way.uses = under_way.flow.path->uses;
    if (under_way.flow.produced) {
      under_way.uses.push_back(static_cast<hw::CapacityId>(capacities_.size()));
      capacities_.push_back(*under_way.flow.produced);
    }
    active_.push_back(number);
    transfers.push_back({.uses = under_way.uses, .remaining = under_way.remaining});
  }
  if (active_.empty()) return;
  rates_ = hw::progress(capacities_, transfers).rates;
  // What waits for its sender does not end before lift().
  std::optional<Seconds> next;
  for (std::size_t i = 0; i < active_.size(); ++i) {
    if (flows_.at(active_[i]).flow.produced) continue;
    const Seconds left = transfers[i].remaining / rates_[i];
    if (!next || left < *next) next = left;
  }
  if (!next) return;
  simulation_.after(to_duration(*next), Phase::completion, [this, generation = generation_] {
    if (generation == generation_ && !changing_) recompute();
  });
}

}  // namespace tokenline
