#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "hwmodels/network/network.hpp"
#include "hwmodels/network/transfer.hpp"
#include "sim/engine/transfer_counts.hpp"
#include "sim/kernel/simulation.hpp"

namespace tokenline {

/// Bytes on their way over a network. Flows share its links max-min fairly; rates are computed anew
/// whenever flows begin or end, once per instant. Each costs what hw::progress() costs.
class Flows {
 public:
  /// Called when a flow of `request` has delivered all its bytes.
  using Ended = std::function<void(std::uint32_t request, std::int64_t bytes)>;

  struct Flow {
    std::uint32_t request = 0;
    const hw::Path* path = nullptr;  ///< Must outlive the flow.
    std::int64_t bytes = 0;          ///< Above 0.
    std::int64_t messages = 1;       ///< Contiguous pieces.
    /// What the sender produces meanwhile, which bounds the rate until lift(); absent: all is
    /// there.
    std::optional<BytesPerSecond> produced;
    Duration after{};  ///< It begins so much later.
  };

  /// The simulation must outlive the flows.
  Flows(Simulation& simulation, const hw::Network& network, Ended ended);
  Flows(const Flows&) = delete;
  Flows& operator=(const Flows&) = delete;

  /// The flow's bytes take bandwidth after the start-up of its path.
  void begin(const Flow& flow);
  /// All that the flows of a request wait for has been produced.
  void lift(std::uint32_t request);
  /// The capacities of the network are others from now on.
  void set_capacities(std::vector<BytesPerSecond> capacities);
  /// The flows of a request end without having delivered.
  void cancel(std::uint32_t request);

  [[nodiscard]] const FlowCounts& counts() const { return counts_; }

 private:
  struct UnderWay {
    Flow flow;
    bool started = false;  ///< Its start-up is over.
    Bytes remaining;
    std::vector<hw::CapacityId> uses;
  };

  void change();
  void settle();
  void recompute();
  void set_rates();
  std::vector<Flow> take_ended();

  Simulation& simulation_;
  std::vector<BytesPerSecond> of_network_;
  Ended ended_;
  std::map<std::uint64_t, UnderWay> flows_;  ///< By number, in the order in which they began.
  std::uint64_t next_number_ = 0;
  std::vector<std::uint64_t> active_;       ///< Those that have rates.
  std::vector<BytesPerSecond> rates_;       ///< Of `active_`.
  TimePoint settled_{};                     ///< Up to when `remaining` counts.
  bool changing_ = false;                   ///< Rates will be computed at this instant.
  std::uint64_t generation_ = 0;            ///< Of the rates; older events are void.
  std::vector<BytesPerSecond> capacities_;  ///< Of the network, and of what is still produced.
  FlowCounts counts_;
};

}  // namespace tokenline
