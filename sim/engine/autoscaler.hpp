#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/engine/autoscale_config.hpp"
#include "sim/engine/instance.hpp"
#include "sim/kernel/simulation.hpp"

namespace tokenline {

/// What the Horizontal Pod Autoscaler asks for (pkg/controller/podautoscaler of Kubernetes:
/// GetExternalPerPodMetricReplicas and stabilizeRecommendation). Not modelled: the policies that
/// limit how many replicas come or go in a period.
class HorizontalScale {
 public:
  explicit HorizontalScale(const AutoscaleConfig& config) : config_(config) {}

  /// The number of replicas to have: ⌈total / target⌉ of the metric's total over all replicas, that
  /// is ⌈current · mean / target⌉, between min and max. Times ascend from call to call.
  [[nodiscard]] std::int64_t desired(TimePoint now, std::int64_t current, double total);

 private:
  AutoscaleConfig config_;
  bool begun_ = false;
  std::deque<std::pair<TimePoint, std::int64_t>> wanted_;  ///< Within the stabilization window.
};

/// Starts replicas and takes them out of service as the Horizontal Pod Autoscaler does. A new one
/// serves, with an empty cache, after its cold start; one that goes is given no more requests and
/// is gone when it has none. Those that start go first, then the last ones.
class Autoscaler {
 public:
  using Instances = std::vector<std::unique_ptr<Instance>>;

  /// All references must outlive it. `add` appends an instance; `provisioning` is the whole cold
  /// start. The instances that there are serve.
  Autoscaler(Simulation& simulation, const AutoscaleConfig& config, Duration provisioning,
             Instances& instances, std::function<void()> add);

  /// Looks at the metric every interval from now on, until stop().
  void start();
  /// Nothing will arrive any more: nothing starts and nothing is looked at.
  void stop();
  /// Whether the instance gets requests.
  [[nodiscard]] bool serves(std::size_t instance) const {
    return states_[instance] == State::serving;
  }
  /// Whether the instance is there, and not only ordered.
  [[nodiscard]] bool exists(std::size_t instance) const {
    return instance < states_.size() && (serves(instance) || states_[instance] == State::draining);
  }
  /// Whether it was there at some instant of [from, to).
  [[nodiscard]] bool existed(std::size_t instance, TimePoint from, TimePoint to) const;
  /// A request has left the instance.
  void left(std::size_t instance);
  [[nodiscard]] FleetResult& result() { return result_; }

 private:
  enum class State : std::uint8_t { absent, starting, serving, draining };
  /// From when on an instance was there, and until when.
  struct Stay {
    TimePoint begin{};
    std::optional<TimePoint> end = {};
  };

  void look();
  [[nodiscard]] double total() const;
  void order();
  void give_back();
  void resized();
  [[nodiscard]] std::int64_t count(State state) const;

  Simulation& simulation_;
  AutoscaleConfig config_;
  Duration provisioning_;
  Instances& instances_;
  std::function<void()> add_;
  HorizontalScale scale_;
  std::vector<State> states_;                                  ///< By instance.
  std::vector<std::vector<Stay>> stays_;                       ///< By instance.
  std::vector<std::optional<Simulation::EventId>> readiness_;  ///< Of those that start.
  std::optional<Simulation::EventId> next_look_;
  FleetResult result_;
};

}  // namespace tokenline
