#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/engine/run.hpp"
#include "sim/report/why/life.hpp"
#include "sim/report/why/timeline.hpp"

namespace tokenline::report {

/// What took a nanosecond of a request's life.
enum class Cause : std::uint8_t {
  own,         ///< Its own computation at its floor.
  prompts,     ///< The prompts of others, being computed.
  decodes,     ///< The decodes of a batch.
  host,        ///< The host's work between steps.
  pipeline,    ///< The host or a stage, busy with another micro-batch.
  idle,        ///< No step was under way.
  preemption,  ///< Its own: what that threw away is computed again.
  transfer,    ///< KV on its way: to another instance, from a tier, to and from host memory.
  crash,       ///< An instance crashed, or restarts.
  client,      ///< Its own client gave an attempt up.
  door,        ///< It was refused.
};

/// A cause; of prompts those of a class whose lengths are in (2^(bits − 1), 2^bits].
struct Culprit {
  Cause cause = Cause::own;
  std::uint32_t class_index = 0;
  std::uint32_t bits = 0;

  friend auto operator<=>(const Culprit&, const Culprit&) = default;
};

/// The culprit that the prompt of a request is for others.
[[nodiscard]] Culprit prompt_of(const RequestRecord& record);

/// Where the time of some requests went, and to whom. All sums are of nanoseconds times the weight
/// of the request that spent them, and exact.
struct Blame {
  std::map<std::pair<Part, Culprit>, Duration> time;
  /// Of `time`, what each prompt took: by request, where any did.
  std::map<Part, std::vector<Duration>> by_request;
  std::map<std::uint32_t, Duration> by_instance;
  /// By instance and when it crashed.
  std::map<std::pair<std::uint32_t, TimePoint>, Duration> by_crash;
  /// Spent while the instance was slowed down by a straggler of `faults:`, or any links had a
  /// brown-out, by its index there.
  std::map<std::size_t, Duration> by_fault;
  /// Of waits for sequence slots and KV blocks: sequences that ran meanwhile, by class, times the
  /// time.
  std::map<std::pair<Part, std::uint32_t>, double> holders;  ///< In nanoseconds.
  /// Sequences of the batches whose decodes took time, times that time.
  double decode_rows = 0.0;

  [[nodiscard]] Duration of(Part part) const;
  [[nodiscard]] Duration total() const;
};

/// The log of a run, prepared for questions.
class Evidence {
 public:
  /// Both must outlive it.
  Evidence(const RunLog& log, const RunResult& run);

  [[nodiscard]] const RunLog& log() const { return log_; }
  [[nodiscard]] const RunResult& run() const { return run_; }
  [[nodiscard]] const std::vector<std::vector<Cell>>& cells() const { return cells_; }
  [[nodiscard]] std::vector<Span> life(std::uint32_t request) const { return lives_.of(request); }

 private:
  const RunLog& log_;
  const RunResult& run_;
  Lives lives_;
  std::vector<std::vector<Cell>> cells_;  ///< By instance.
};

/// Adds up the lives of requests, each in O(log steps) but for its own pieces: stretches of steps
/// and of cells are counted at their ends, and shared out among causes once, at the end.
class BlameSum {
 public:
  explicit BlameSum(const Evidence& evidence);

  /// Of a life what lies in [from, to), `weight` times. The limits must not divide a piece or a
  /// decode step.
  void add(const std::vector<Span>& life, TimePoint from, TimePoint to, std::int64_t weight = 1);
  /// Steps [first, last) of a micro-batch, and the pauses before them, as a sequence spends them
  /// that decodes.
  void add_decodes(std::uint32_t instance, std::uint32_t micro_batch, std::uint32_t first,
                   std::uint32_t last, std::int64_t weight);
  [[nodiscard]] Blame finish();

 private:
  /// Changes of a weight, and where they happen.
  using Changes = std::vector<std::pair<std::size_t, std::int64_t>>;

  void add_cells(SpanKind kind, std::uint32_t instance, TimePoint from, TimePoint to,
                 std::int64_t weight);
  void add_steps(const Span& span, TimePoint from, TimePoint to, std::int64_t weight);
  void add_piece(const Span& span, std::int64_t weight);
  void add_failure(const Span& span, Cause cause, Duration time);
  void charge(Part part, Cause cause, Duration time);
  void charge_batch(Part part, const LoggedStep& step, Duration decode, Duration time,
                    std::int64_t weight, std::size_t except);
  void charge_cell(SpanKind kind, std::uint32_t instance, const Cell& cell, Duration time,
                   std::int64_t weight);
  void charge_step(std::uint32_t instance, const LoggedStep& step, std::int64_t weight);
  void locate(std::uint32_t instance, TimePoint when, Duration time);
  void locate_transfer(std::uint32_t instance, TimePoint from, TimePoint to, std::int64_t weight);

  const Evidence& evidence_;
  std::map<std::pair<SpanKind, std::uint32_t>, Changes> cells_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Changes> steps_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Changes> pauses_;
  Blame blame_;
};

}  // namespace tokenline::report
