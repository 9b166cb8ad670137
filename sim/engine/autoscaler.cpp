#include "sim/engine/autoscaler.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tokenline {

std::int64_t HorizontalScale::desired(TimePoint now, std::int64_t current, double total) {
  const double usage = total / (config_.target * static_cast<double>(current));
  std::int64_t wanted = current;
  if (std::abs(usage - 1.0) > config_.tolerance)
    wanted = static_cast<std::int64_t>(
        std::min(std::ceil(total / config_.target), static_cast<double>(config_.max)));
  wanted = std::clamp(wanted, config_.min, config_.max);
  // What the fleet begins with is the first recommendation (recordInitialRecommendation).
  if (!std::exchange(begun_, true)) wanted_.emplace_back(now, current);
  while (!wanted_.empty() && wanted_.front().first < now - config_.stabilization)
    wanted_.pop_front();
  wanted_.emplace_back(now, wanted);
  if (wanted >= current) return wanted;
  std::int64_t most = 0;
  for (const auto& [when, number] : wanted_) most = std::max(most, number);
  return std::min(most, current);
}

Autoscaler::Autoscaler(Simulation& simulation, const AutoscaleConfig& config, Duration provisioning,
                       Instances& instances, std::function<void()> add)
    : simulation_(simulation),
      config_(config),
      provisioning_(provisioning),
      instances_(instances),
      add_(std::move(add)),
      scale_(config),
      states_(instances.size(), State::serving),
      stays_(instances.size(), {Stay{}}),
      readiness_(instances.size()) {
  resized();
}

void Autoscaler::start() {
  next_look_ = simulation_.after(config_.interval, Phase::decision, [this] {
    look();
    start();
  });
}

void Autoscaler::stop() {
  if (next_look_) simulation_.cancel(*std::exchange(next_look_, std::nullopt));
  for (auto& readiness : readiness_)
    if (readiness) simulation_.cancel(*std::exchange(readiness, std::nullopt));
}

std::int64_t Autoscaler::count(State state) const { return std::ranges::count(states_, state); }

double Autoscaler::total() const {
  double sum = 0.0;
  for (std::size_t i = 0; i < instances_.size(); ++i) {
    if (!serves(i)) continue;
    const Instance& instance = *instances_[i];
    switch (config_.metric) {
      case ScaleMetric::queue_length:
        sum += static_cast<double>(instance.queue_length());
        break;
      case ScaleMetric::running_requests:
        sum += static_cast<double>(instance.in_batches());
        break;
      case ScaleMetric::kv_usage:
        sum += static_cast<double>(instance.pool().used()) /
               static_cast<double>(instance.pool().total());
        break;
    }
  }
  return sum;
}

void Autoscaler::look() {
  next_look_.reset();
  for (std::size_t i = 0; i < states_.size(); ++i) left(i);  // Some leave unheard.
  std::int64_t current = count(State::serving) + count(State::starting);
  const std::int64_t desired = scale_.desired(simulation_.now(), current, total());
  for (; current < desired; ++current) order();
  for (; current > desired; --current) give_back();
}

void Autoscaler::order() {
  auto place =
      static_cast<std::size_t>(std::ranges::find(states_, State::absent) - states_.begin());
  if (place == states_.size()) {
    add_();
    states_.push_back(State::absent);
    stays_.emplace_back();
    readiness_.emplace_back();
  }
  ++result_.scale_ups;
  states_[place] = State::starting;
  readiness_[place] = simulation_.after(provisioning_, Phase::completion, [this, place] {
    readiness_[place].reset();
    instances_[place]->renew();
    states_[place] = State::serving;
    stays_[place].push_back({.begin = simulation_.now()});
    resized();
  });
  resized();
}

void Autoscaler::give_back() {
  ++result_.scale_downs;
  const auto last = [this](State state) {
    const auto found = std::find(states_.rbegin(), states_.rend(), state);
    return found == states_.rend() ? states_.size()
                                   : static_cast<std::size_t>(states_.rend() - found) - 1;
  };
  if (const std::size_t starting = last(State::starting); starting < states_.size()) {
    simulation_.cancel(*std::exchange(readiness_[starting], std::nullopt));
    states_[starting] = State::absent;
    resized();
    return;
  }
  const std::size_t going = last(State::serving);
  states_[going] = State::draining;
  resized();
  left(going);
}

void Autoscaler::left(std::size_t instance) {
  if (states_[instance] != State::draining || instances_[instance]->outstanding() > 0) return;
  states_[instance] = State::absent;
  stays_[instance].back().end = simulation_.now();
  resized();
}

bool Autoscaler::existed(std::size_t instance, TimePoint from, TimePoint to) const {
  return instance < stays_.size() && std::ranges::any_of(
                                         stays_[instance],
                                         [&](const Stay& stay) {
                                           return stay.begin < to &&
                                                  from < stay.end.value_or(TimePoint::max());
                                         });
}

void Autoscaler::resized() {
  const FleetSize size{.when = simulation_.now(),
                       .serving = count(State::serving),
                       .starting = count(State::starting),
                       .draining = count(State::draining)};
  // Of several changes at an instant the last one counts.
  if (!result_.sizes.empty() && result_.sizes.back().when == size.when)
    result_.sizes.back() = size;
  else
    result_.sizes.push_back(size);
}

}  // namespace tokenline
