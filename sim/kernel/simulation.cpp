#include "sim/kernel/simulation.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "sim/base/check.hpp"

namespace tokenline {

bool Simulation::Later::operator()(const Key& a, const Key& b) const {
  return std::tie(a.when, a.phase, a.sequence) > std::tie(b.when, b.phase, b.sequence);
}

void Simulation::require_future(TimePoint when) const {
  TOKENLINE_CHECK(when >= now_, "at {} ns an event was scheduled {} ns in the past",
                  now_.time_since_epoch().count(), (now_ - when).count());
}

Simulation::EventId Simulation::at(TimePoint when, Phase phase, Action action) {
  require_future(when);
  std::uint32_t slot{};
  if (free_.empty()) {
    slot = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  const std::uint64_t sequence = next_sequence_++;
  slots_[slot] = {.action = std::move(action), .sequence = sequence};
  heap_.push_back({when, phase, sequence, slot});
  std::ranges::push_heap(heap_, Later{});
  return {.slot = slot, .sequence = sequence};
}

void Simulation::cancel(EventId event) {
  TOKENLINE_CHECK(event.slot < slots_.size() && slots_[event.slot].sequence == event.sequence &&
                      slots_[event.slot].action != nullptr,
                  "event {} is cancelled, and is none that is to come", event.sequence);
  slots_[event.slot].action = nullptr;
}

bool Simulation::try_advance(TimePoint when, Phase phase) {
  require_future(when);
  // An event of equal time and phase was scheduled earlier, so it goes first.
  if (!heap_.empty() && std::tie(heap_.front().when, heap_.front().phase) <= std::tie(when, phase))
    return false;
  record(when, phase, next_sequence_++);
  return true;
}

Simulation::Key Simulation::pop() {
  std::ranges::pop_heap(heap_, Later{});
  const Key key = heap_.back();
  heap_.pop_back();
  free_.push_back(key.slot);
  return key;
}

bool Simulation::step() {
  while (!heap_.empty()) {
    const Key key = pop();
    Action action;
    action.swap(slots_[key.slot].action);
    if (action == nullptr) continue;  // It was cancelled.
    record(key.when, key.phase, key.sequence);
    action();
    return true;
  }
  return false;
}

void Simulation::record(TimePoint when, Phase phase, std::uint64_t sequence) {
  if (stop_.stop_requested()) [[unlikely]]
    throw Interrupted{};
  now_ = when;
  if (phase != Phase::sample) last_change_ = when;
  ++executed_;
  // FNV-1a over the three words.
  for (const auto word : {static_cast<std::uint64_t>(when.time_since_epoch().count()),
                          static_cast<std::uint64_t>(phase), sequence})
    fingerprint_ = (fingerprint_ ^ word) * 0x100000001b3ULL;
}

}  // namespace tokenline
