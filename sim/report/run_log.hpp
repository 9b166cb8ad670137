#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/run_observer.hpp"

namespace tokenline::report {

/// A step as RunLog keeps it.
struct LoggedStep {
  TimePoint begin{};
  TimePoint end{};  ///< As decided: a crash may cut it short.
  Duration host{};
  Duration swapping{};
  Duration gpu{};
  Duration waiting{};
  Duration decode{};
  Duration decode_floor{};
  std::int64_t decode_context = 0;
  Flops flops;
  Bytes hbm_bytes;
  std::uint32_t decode_sequences = 0;
  std::uint32_t prefill_tokens = 0;
  std::uint32_t running = 0;
  std::uint32_t waiting_requests = 0;
  std::uint32_t kv_used_blocks = 0;
  Blocked blocked = Blocked::nothing;
  std::uint32_t micro_batch = 0;
  std::uint32_t place = 0;  ///< Among the steps of its micro-batch.
  std::uint32_t pieces = 0;
  std::size_t first_piece = 0;  ///< Into RunLog::pieces().
};

/// A piece of a prompt, and the step that it is in.
struct LoggedPiece {
  std::uint32_t request = 0;
  std::uint32_t instance = 0;
  std::uint32_t step = 0;  ///< Among those of its instance.
  bool last = false;
  bool repeated = false;
  bool in_vain = false;
  Duration alone{};
};

/// An event, and how far its instance was then.
struct LoggedEvent {
  TimePoint when{};
  std::uint32_t request = 0;
  std::uint32_t instance = 0;
  Duration queue{};
  std::uint32_t decisions = 0;  ///< Of the instance so far: the index of the next one.
  std::uint32_t steps = 0;      ///< Likewise.
  SequenceEvent event = SequenceEvent::queued;
};

/// A decision, and what the head of the queue waited for until then, since the one before.
struct LoggedDecision {
  TimePoint when{};
  Blocked waited = Blocked::nothing;
};

/// [from, until) in which an instance is down.
struct LoggedCrash {
  TimePoint from{};
  TimePoint until{};
  std::uint32_t steps = 0;  ///< Begun before it.
};

/// What one instance did.
struct InstanceLog {
  std::vector<LoggedStep> steps;
  std::vector<LoggedDecision> decisions;
  std::vector<LoggedCrash> crashes;
  std::vector<std::vector<std::uint32_t>> micro_batches;  ///< Of each, its steps.

  /// When a step did end: a crash cuts those short that are under way.
  [[nodiscard]] TimePoint ended(std::size_t step) const;
};

/// Keeps what a run tells, for questions that are asked after it: about 100 bytes a step, 30 a
/// piece and 30 an event.
class RunLog final : public RunObserver {
 public:
  void step(const ObservedStep& step) override;
  void sequence(const ObservedEvent& event) override;
  void decides(std::uint32_t instance, TimePoint when, Blocked waited) override;
  void down(std::uint32_t instance, TimePoint from, TimePoint until) override;

  /// Instances that did anything; those after them did not.
  [[nodiscard]] const std::vector<InstanceLog>& instances() const { return instances_; }
  /// In the order in which they happened.
  [[nodiscard]] const std::vector<LoggedEvent>& events() const { return events_; }
  /// In the order of the steps.
  [[nodiscard]] const std::vector<LoggedPiece>& pieces() const { return pieces_; }
  [[nodiscard]] std::span<const LoggedPiece> pieces_of(const LoggedStep& step) const {
    return std::span(pieces_).subspan(step.first_piece, step.pieces);
  }

 private:
  InstanceLog& at(std::uint32_t instance);

  std::vector<InstanceLog> instances_;
  std::vector<LoggedEvent> events_;
  std::vector<LoggedPiece> pieces_;
};

/// Numbers of items by request, without moving the items: O(1) to find those of one.
class ByRequest {
 public:
  /// Items have a member `request`, below `requests`.
  template <class Item>
  ByRequest(const std::vector<Item>& items, std::size_t requests)
      : starts_(requests + 1), order_(items.size()) {
    for (const Item& item : items) ++starts_[item.request + 1];
    for (std::size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
    std::vector<std::size_t> next(starts_.begin(), starts_.end() - 1);
    for (std::size_t i = 0; i < items.size(); ++i)
      order_[next[items[i].request]++] = static_cast<std::uint32_t>(i);
  }
  /// Indices of the items of a request, in their order.
  [[nodiscard]] std::span<const std::uint32_t> of(std::uint32_t request) const {
    return std::span(order_).subspan(starts_[request], starts_[request + 1] - starts_[request]);
  }

 private:
  std::vector<std::size_t> starts_;
  std::vector<std::uint32_t> order_;
};

}  // namespace tokenline::report
