#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <utility>
#include <vector>

#include "sim/base/time.hpp"

namespace tokenline {

/// What happens first when several events share an instant: work that ends frees resources before
/// arrivals look at them, decisions see both, and samples see the outcome.
enum class Phase : std::uint8_t { completion, arrival, decision, sample };

/// Thrown out of a simulation that was asked to stop. Why no std::exception: nobody is to take it
/// for a failure, to be reported or tried again.
struct Interrupted {};

/// The event kernel: a clock and a set of future events in a total order
/// (time, phase, order of scheduling). It knows nothing about what the events mean.
class Simulation {
 public:
  using Action = std::function<void()>;

  [[nodiscard]] TimePoint now() const { return now_; }

  /// Names an event that was scheduled, to cancel it.
  struct EventId {
    std::uint32_t slot = 0;
    std::uint64_t sequence = 0;
  };

  /// Schedules `action`. Throws InternalError if `when` lies in the past: that is a bug of the
  /// caller, and moving the event would hide it.
  EventId at(TimePoint when, Phase phase, Action action);
  EventId after(Duration delay, Phase phase, Action action) {
    return at(now_ + delay, phase, std::move(action));
  }
  /// The event will not happen: it moves no clock and is not counted. O(1); its place is freed when
  /// its time comes. An event that has run already is none to cancel, and a bug of the caller.
  void cancel(EventId event);

  /// Moves the clock to `when` if an event scheduled now for (when, phase) would be the next to
  /// run, and counts it as run; otherwise changes nothing and returns false. The caller then does
  /// the event's work itself. Order, clock and fingerprint are those of at() followed by step(),
  /// without the heap: an engine runs its steps in a plain loop until something else is due.
  [[nodiscard]] bool try_advance(TimePoint when, Phase phase);

  /// Runs the next event; false when there is none.
  bool step();

  /// From now on every event asks `stop` before it runs; once a stop is requested it throws
  /// Interrupted instead, and nothing more can be done with the simulation.
  void stop_on(std::stop_token stop) { stop_ = std::move(stop); }

  /// Runs until no event is left.
  void run() {
    while (step()) {
    }
  }

  /// When the last event that is not a sample happened: samples look, and change nothing.
  [[nodiscard]] TimePoint last_change() const { return last_change_; }

  /// Events run so far, including those run through try_advance().
  [[nodiscard]] std::uint64_t executed() const { return executed_; }

  /// Digest of every executed (time, phase, sequence): equal digests mean equal event orders.
  [[nodiscard]] std::uint64_t fingerprint() const { return fingerprint_; }

 private:
  struct Key {
    TimePoint when{};
    Phase phase{};
    std::uint64_t sequence = 0;
    std::uint32_t slot = 0;
  };
  struct Later {
    bool operator()(const Key& a, const Key& b) const;
  };

  Key pop();
  void record(TimePoint when, Phase phase, std::uint64_t sequence);
  void require_future(TimePoint when) const;

  std::vector<Key> heap_;
  struct Slot {
    Action action;  ///< Empty when it was cancelled.
    std::uint64_t sequence = 0;
  };
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  TimePoint now_{};
  TimePoint last_change_{};
  std::uint64_t next_sequence_ = 0;
  std::uint64_t executed_ = 0;
  std::uint64_t fingerprint_ = 0xcbf29ce484222325ULL;
  std::stop_token stop_;
};

}  // namespace tokenline
