#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/base/time.hpp"

namespace tokenline {

/// Where a request's time can go. Every nanosecond between arrival and the last token belongs to
/// exactly one part; the first thirteen can occur before the first token.
enum class Part : std::uint8_t {
  wait_step,           ///< Arrived while a step was under way: until that step ended.
  wait_sequence_slot,  ///< The head of the queue waited for one of max_num_seqs slots.
  wait_kv_blocks,      ///< The head of the queue waited for KV blocks.
  wait_token_budget,   ///< The step's max_num_batched_tokens were used up by others.
  own_prefill,         ///< The GPU time its own prompt pieces take alone.
  prefill_stretched,   ///< What the work batched with its prompt pieces added.
  preempted,           ///< Between losing its blocks and being admitted again.
  recomputed,          ///< Prefilling again what a preemption had thrown away.
  host_gap,            ///< Host time between GPU steps it took part in.
  pipeline_wait,       ///< Waited for a pipeline stage, or the host, busy with another micro-batch.
  transfer_queue,      ///< Its KV waited for blocks in a decode replica, or behind other reads.
  transfer_wire,       ///< KV was on its way: to the decode replica, from a tier, or swapped.
  restart,             ///< Attempts that failed, pauses behind them, and waiting for a restart.
  decode_floor,        ///< Decode steps as if alone: weights, launch floors, average context.
  decode_stretched,    ///< What the other decodes of the batch added.
  decode_stalled,      ///< What prefills of others added to its decode steps, or whole steps.
};

inline constexpr std::size_t part_count = 16;
/// Parts that can occur before the first token: all up to Part::restart.
inline constexpr std::size_t ttft_part_count = 13;

/// The name used in summary.json, "wait_kv_blocks".
[[nodiscard]] std::string_view name(Part part);

/// One duration for each of the first `count` parts.
template <std::size_t count>
class PartTimes {
 public:
  PartTimes() = default;
  /// The first parts of a longer list.
  template <std::size_t longer>
    requires(longer > count)
  explicit PartTimes(const PartTimes<longer>& parts) {
    for (std::size_t i = 0; i < count; ++i) values_[i] = parts[static_cast<Part>(i)];
  }

  [[nodiscard]] Duration& operator[](Part part) { return values_[static_cast<std::size_t>(part)]; }
  [[nodiscard]] Duration operator[](Part part) const {
    return values_[static_cast<std::size_t>(part)];
  }
  [[nodiscard]] Duration sum() const {
    Duration total{};
    for (const Duration d : values_) total += d;
    return total;
  }
  friend bool operator==(const PartTimes&, const PartTimes&) = default;

 private:
  std::array<Duration, count> values_{};
};

using Parts = PartTimes<part_count>;
/// The parts up to the first token, frozen when it leaves the engine.
using TtftParts = PartTimes<ttft_part_count>;

}  // namespace tokenline
