#include "sim/report/why/life.hpp"

#include <algorithm>
#include <optional>

#include "sim/base/check.hpp"

namespace tokenline::report {
namespace {

/// Writes the spans of one request, event by event.
class LifeWriter {
 public:
  LifeWriter(const RunLog& log, const RequestRecord& record, std::span<const std::uint32_t> events,
             std::span<const std::uint32_t> pieces)
      : log_(log), record_(record), events_(events), pieces_(pieces), now_(record.arrival) {}

  std::vector<Span> write() {
    const std::size_t last_attempt = lost_attempts();
    for (std::size_t i = last_attempt; i < events_.size(); ++i) tell(event(i));
    TOKENLINE_CHECK(now_ == record_.finish, "request life ends at {} and not at {} ns",
                    now_.time_since_epoch().count(), record_.finish.time_since_epoch().count());
    return std::move(spans_);
  }

 private:
  enum class State { elsewhere, queued, prefilling, decoding, preempted, moving, landed };

  [[nodiscard]] const LoggedEvent& event(std::size_t i) const { return log_.events()[events_[i]]; }
  [[nodiscard]] const InstanceLog& instance() const { return log_.instances()[instance_]; }
  [[nodiscard]] const LoggedStep& step_of(const LoggedPiece& piece) const {
    return log_.instances()[piece.instance].steps[piece.step];
  }

  /// Ends a span at `to`, unless nothing is left of it.
  void until(TimePoint to, SpanKind kind) {
    if (to <= now_) return;
    spans_.push_back({.kind = kind, .instance = instance_, .from = now_, .to = to});
    now_ = to;
  }

  /// Attempts that failed, and pauses after them. Returns the first event of the last one.
  std::size_t lost_attempts() {
    std::optional<SpanKind> failure;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < events_.size(); ++i) {
      const LoggedEvent& e = event(i);
      if (e.event == SequenceEvent::queued) {
        instance_ = failed_.value_or(e.instance);
        until(e.when, failure.value_or(SpanKind::refused));
        failure.reset();
        failed_.reset();
        begin = i;
      } else if (!failure &&
                 (e.event == SequenceEvent::lost || e.event == SequenceEvent::given_up)) {
        failure = e.event == SequenceEvent::lost ? SpanKind::lost : SpanKind::given_up;
        failed_ = e.instance;
      }
    }
    return begin;
  }

  void tell(const LoggedEvent& e) {
    switch (e.event) {
      case SequenceEvent::queued:
        return enqueue(e);
      case SequenceEvent::admitted:
        return admit(e);
      case SequenceEvent::preempted:
      case SequenceEvent::swapped_out:
        compute(e);
        state_ = State::preempted;
        return;
      case SequenceEvent::swapped_in:
        until(e.when, SpanKind::preempted);
        return decode_in(e.instance, instance().steps.at(e.steps).micro_batch);
      case SequenceEvent::loading:
        wait(e.when);
        return until(e.when + e.queue, SpanKind::transfer_queue);
      case SequenceEvent::loaded:
        until(e.when, SpanKind::transfer_wire);
        return until(seen(e), SpanKind::unseen);
      case SequenceEvent::handed_over:
        compute(e);
        state_ = State::moving;
        return;
      case SequenceEvent::landed:
        return land(e);
      case SequenceEvent::finished:
        return compute(e);
      case SequenceEvent::first_token:
      case SequenceEvent::given_up:
      case SequenceEvent::lost:  // What was to take its KV: another one will.
        return;
    }
  }

  void enqueue(const LoggedEvent& e) {
    instance_ = e.instance;
    for (const LoggedCrash& crash : instance().crashes)
      if (crash.from <= e.when && e.when < crash.until) until(crash.until, SpanKind::down);
    queued_ = e;
    seen_ = false;
    state_ = State::queued;
  }

  void admit(const LoggedEvent& e) {
    if (state_ == State::landed) {
      until(e.when, SpanKind::slot);
      return decode_in(e.instance, instance().steps.at(e.steps).micro_batch);
    }
    wait(e.when);
    state_ = State::prefilling;
  }

  /// In the queue, for the first time or again.
  void wait(TimePoint to) {
    if (state_ == State::preempted) return until(to, SpanKind::preempted);
    if (!seen_) until(now_ + record_.parts[Part::wait_step] - unseen_later(), SpanKind::unseen);
    seen_ = true;
    until(to, SpanKind::queued);
  }

  /// Where its KV comes from elsewhere it waits for a decision again.
  [[nodiscard]] Duration unseen_later() const {
    Duration sum{};
    for (const std::uint32_t i : events_) {
      const LoggedEvent& e = log_.events()[i];
      const bool came = e.event == SequenceEvent::landed || e.event == SequenceEvent::loaded;
      if (came && e.when >= queued_.when) sum += seen(e) - e.when;
    }
    return sum;
  }
  [[nodiscard]] TimePoint seen(const LoggedEvent& came) const {
    return log_.instances()[came.instance].decisions.at(came.decisions).when;
  }

  void land(const LoggedEvent& e) {
    until(std::min(e.when, now_ + record_.parts[Part::transfer_queue]), SpanKind::transfer_queue);
    until(e.when, SpanKind::transfer_wire);
    instance_ = e.instance;
    until(seen(e), SpanKind::unseen);
    state_ = State::landed;
  }

  void decode_in(std::uint32_t where, std::uint32_t micro_batch) {
    instance_ = where;
    micro_batch_ = micro_batch;
    state_ = State::decoding;
  }

  /// The pieces of its prompt up to an event, then the decodes.
  void compute(const LoggedEvent& e) {
    while (state_ == State::prefilling && next_piece()) {
      const LoggedPiece& piece = log_.pieces()[pieces_[piece_]];
      const LoggedStep& step = step_of(piece);
      if (step.begin >= e.when) break;
      starve(piece.instance, step.begin, piece.step);
      spans_.push_back({.kind = SpanKind::piece,
                        .instance = piece.instance,
                        .from = now_,
                        .to = step.end,
                        .piece = pieces_[piece_]});
      now_ = step.end;
      done_steps_ = piece.step + 1;
      ++piece_;
      if (piece.last) decode_in(piece.instance, step.micro_batch);
    }
    if (state_ == State::decoding)
      decode(e.when);
    else
      starve(e.instance, e.when, e.steps);
  }

  /// Looks for one of this attempt.
  bool next_piece() {
    for (; piece_ < pieces_.size(); ++piece_) {
      const LoggedPiece& piece = log_.pieces()[pieces_[piece_]];
      if (!piece.in_vain && step_of(piece).begin >= queued_.when) return true;
    }
    return false;
  }

  /// Partly computed until `to`. A step of others, decided on after its last piece has ended, took
  /// the tokens; `steps`: those of its instance begun before `to`.
  void starve(std::uint32_t where, TimePoint to, std::uint32_t steps) {
    instance_ = where;
    if (to <= now_) return;
    const std::vector<LoggedStep>& all = instance().steps;
    const bool others = steps > done_steps_ && all[steps - 1].begin >= now_;
    until(to, others ? SpanKind::starved : SpanKind::paused);
  }

  void decode(TimePoint to) {
    if (to <= now_) return;
    const std::vector<LoggedStep>& steps = instance().steps;
    const std::vector<std::uint32_t>& batch = instance().micro_batches.at(micro_batch_);
    const auto place = [&](TimePoint when) {
      const auto at = std::ranges::lower_bound(batch, when, {},
                                               [&](std::uint32_t i) { return steps[i].begin; });
      return static_cast<std::uint32_t>(at - batch.begin());
    };
    spans_.push_back({.kind = SpanKind::decode,
                      .instance = instance_,
                      .from = now_,
                      .to = to,
                      .micro_batch = micro_batch_,
                      .first = place(now_),
                      .last = place(to)});
    now_ = to;
  }

  const RunLog& log_;
  const RequestRecord& record_;
  std::span<const std::uint32_t> events_;
  std::span<const std::uint32_t> pieces_;
  TimePoint now_;  ///< Up to when its spans are written.
  std::vector<Span> spans_;
  State state_ = State::elsewhere;
  std::optional<std::uint32_t> failed_;  ///< The instance of a failed attempt.
  std::uint32_t instance_ = 0;
  std::uint32_t micro_batch_ = 0;
  std::size_t piece_ = 0;         ///< The next one.
  std::uint32_t done_steps_ = 0;  ///< Of its instance, up to that of its last piece.
  LoggedEvent queued_;
  bool seen_ = false;  ///< Since then a decision has known of it.
};

}  // namespace

Lives::Lives(const RunLog& log, const RunResult& run)
    : log_(log),
      run_(run),
      events_(log.events(), run.log.records.size()),
      pieces_(log.pieces(), run.log.records.size()) {}

std::vector<Span> Lives::of(std::uint32_t request) const {
  return LifeWriter(log_, run_.log.records[request], events_.of(request), pieces_.of(request))
      .write();
}

}  // namespace tokenline::report
