#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/run.hpp"
#include "sim/report/run_log.hpp"

namespace tokenline::report {

/// What a request does for a stretch of its life.
enum class SpanKind : std::uint8_t {
  refused,         ///< Its attempt was refused at the door, and its client waits to ask again.
  given_up,        ///< Its client gives this attempt up, or waits to ask again.
  lost,            ///< Its instance will crash, or has.
  down,            ///< In the queue of an instance that is down.
  unseen,          ///< Waits for a decision that knows of it.
  queued,          ///< Waits for what the decisions say.
  preempted,       ///< Waits for blocks again.
  starved,         ///< Partly computed: the steps have no tokens for it.
  paused,          ///< Partly computed: waits for the host or a stage.
  piece,           ///< A piece of its prompt is computed.
  decode,          ///< Decodes, in the steps of a micro-batch.
  transfer_queue,  ///< Its KV waits for blocks where it is decoded, or behind reads of a tier.
  transfer_wire,   ///< Its KV is on the way.
  slot,            ///< Its KV has come and waits for a sequence slot.
};

/// One such stretch, [from, to).
struct Span {
  SpanKind kind = SpanKind::queued;
  std::uint32_t instance = 0;
  TimePoint from{};
  TimePoint to{};
  std::uint32_t micro_batch = 0;  ///< Of decode: its steps [first, last).
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::size_t piece = 0;  ///< Of piece: into RunLog::pieces().
};

/// The lives of the requests of a run, told by its log.
class Lives {
 public:
  /// Both must outlive it.
  Lives(const RunLog& log, const RunResult& run);

  /// The spans of a completed request from its arrival to its last token, without gaps.
  [[nodiscard]] std::vector<Span> of(std::uint32_t request) const;

 private:
  const RunLog& log_;
  const RunResult& run_;
  ByRequest events_;
  ByRequest pieces_;
};

}  // namespace tokenline::report
