#include "sim/report/why/blame.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "sim/base/check.hpp"
#include "sim/report/why/apportion.hpp"
#include "sim/report/why/holders.hpp"

namespace tokenline::report {
namespace {

constexpr std::size_t nobody = std::numeric_limits<std::size_t>::max();

/// The part of the ledger that time in a cell belongs to.
Part part_of(SpanKind kind, const Cell& cell) {
  switch (kind) {
    case SpanKind::unseen:
      return Part::wait_step;
    case SpanKind::preempted:
      return Part::preempted;
    case SpanKind::slot:
      return Part::wait_sequence_slot;
    case SpanKind::starved:
      return Part::wait_token_budget;
    default:
      break;
  }
  TOKENLINE_CHECK(cell.waited != Blocked::nothing, "at {} ns a request waits for nothing",
                  cell.from.time_since_epoch().count());
  if (cell.waited == Blocked::sequence_slot) return Part::wait_sequence_slot;
  return cell.waited == Blocked::kv_blocks ? Part::wait_kv_blocks : Part::wait_token_budget;
}

/// Calls `visit(i, weight)` for every i whose weight is not zero.
template <class Changes, class Visit>
void for_each_weight(Changes& changes, const Visit& visit) {
  std::ranges::sort(changes);
  std::int64_t weight = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    weight += changes[i].second;
    if (weight == 0) continue;
    for (std::size_t at = changes[i].first; at < changes[i + 1].first; ++at) visit(at, weight);
  }
}

template <class Changes>
void change(Changes& changes, std::size_t first, std::size_t last, std::int64_t weight) {
  if (first >= last) return;
  changes.emplace_back(first, weight);
  changes.emplace_back(last, -weight);
}

}  // namespace

Culprit prompt_of(const RequestRecord& record) {
  return {.cause = Cause::prompts,
          .class_index = record.class_index,
          .bits = static_cast<std::uint32_t>(
              std::bit_width(static_cast<std::uint64_t>(record.prompt_tokens - 1)))};
}

Duration Blame::of(Part part) const {
  Duration sum{};
  for (const auto& [key, amount] : time)
    if (key.first == part) sum += amount;
  return sum;
}

Duration Blame::total() const {
  Duration sum{};
  for (const auto& [key, amount] : time) sum += amount;
  return sum;
}

Evidence::Evidence(const RunLog& log, const RunResult& run)
    : log_(log), run_(run), lives_(log, run) {
  for (const InstanceLog& instance : log.instances()) cells_.push_back(timeline(instance));
}

BlameSum::BlameSum(const Evidence& evidence) : evidence_(evidence) {}

void BlameSum::add(const std::vector<Span>& life, TimePoint from, TimePoint to,
                   std::int64_t weight) {
  for (const Span& span : life) {
    const TimePoint begin = std::max(from, span.from);
    const TimePoint end = std::min(to, span.to);
    if (begin >= end) continue;
    const Duration time = (end - begin) * weight;
    switch (span.kind) {
      case SpanKind::refused:
        charge(Part::restart, Cause::door, time);
        break;
      case SpanKind::given_up:
        add_failure(span, Cause::client, time);
        break;
      case SpanKind::lost:
      case SpanKind::down:
        add_failure(span, Cause::crash, time);
        break;
      case SpanKind::paused:
        charge(Part::pipeline_wait, Cause::pipeline, time);
        locate(span.instance, begin, time);
        break;
      case SpanKind::transfer_queue:
      case SpanKind::transfer_wire:
        charge(span.kind == SpanKind::transfer_queue ? Part::transfer_queue : Part::transfer_wire,
               Cause::transfer, time);
        locate_transfer(span.instance, begin, end, weight);
        break;
      case SpanKind::piece:
        add_piece(span, weight);
        break;
      case SpanKind::decode:
        add_steps(span, begin, end, weight);
        break;
      default:
        add_cells(span.kind, span.instance, begin, end, weight);
    }
  }
}

void BlameSum::add_failure(const Span& span, Cause cause, Duration time) {
  charge(Part::restart, cause, time);
  locate(span.instance, span.from, time);
  if (cause != Cause::crash) return;
  // The one that ended the attempt, or that has the instance down.
  const auto& crashes = evidence_.log().instances()[span.instance].crashes;
  const auto found = std::ranges::find_if(crashes, [&](const LoggedCrash& crash) {
    return span.kind == SpanKind::down ? span.from < crash.until && crash.from <= span.from
                                       : span.from <= crash.from && crash.from <= span.to;
  });
  TOKENLINE_CHECK(found != crashes.end(), "a request was lost without a crash");
  blame_.by_crash[{span.instance, found->from}] += time;
}

void BlameSum::add_cells(SpanKind kind, std::uint32_t instance, TimePoint from, TimePoint to,
                         std::int64_t weight) {
  const std::vector<Cell>& cells = evidence_.cells()[instance];
  std::size_t first = cell_at(cells, from);
  const std::size_t last = cell_at(cells, to);
  if (first == last) return charge_cell(kind, instance, cells.at(first), to - from, weight);
  if (from > cells.at(first).from) {
    charge_cell(kind, instance, cells[first], cells[first].to - from, weight);
    ++first;
  }
  if (last < cells.size() && to > cells[last].from)
    charge_cell(kind, instance, cells[last], to - cells[last].from, weight);
  change(cells_[{kind, instance}], first, last, weight);
}

void BlameSum::add_steps(const Span& span, TimePoint from, TimePoint to, std::int64_t weight) {
  const InstanceLog& log = evidence_.log().instances()[span.instance];
  const std::vector<std::uint32_t>& batch = log.micro_batches[span.micro_batch];
  const auto begin = [&](std::uint32_t place) { return log.steps[batch[place]].begin; };
  std::uint32_t first = span.first;
  std::uint32_t last = span.last;
  if (from > span.from)
    first = static_cast<std::uint32_t>(
        std::ranges::lower_bound(batch, from, {}, [&](auto i) { return log.steps[i].begin; }) -
        batch.begin());
  while (last > first && begin(last - 1) >= to) --last;
  if (first == last) {
    charge(Part::pipeline_wait, Cause::pipeline, (to - from) * weight);
    return locate(span.instance, from, (to - from) * weight);
  }
  add_decodes(span.instance, span.micro_batch, first, last, weight);
  // The pauses before the first step and behind the last.
  const Duration pause = (begin(first) - from) + (to - log.steps[batch[last - 1]].end);
  charge(Part::pipeline_wait, Cause::pipeline, pause * weight);
  locate(span.instance, from, pause * weight);
}

void BlameSum::add_decodes(std::uint32_t instance, std::uint32_t micro_batch, std::uint32_t first,
                           std::uint32_t last, std::int64_t weight) {
  change(steps_[{instance, micro_batch}], first, last, weight);
  change(pauses_[{instance, micro_batch}], first + 1, last, weight);
}

void BlameSum::add_piece(const Span& span, std::int64_t weight) {
  const LoggedPiece& piece = evidence_.log().pieces()[span.piece];
  const LoggedStep& step = evidence_.log().instances()[span.instance].steps[piece.step];
  // While an earlier piece was still under way the time was that one's.
  Duration left = span.to - span.from;
  const auto take = [&](Duration time) {
    time = std::min(time, left);
    left -= time;
    return time;
  };
  if (piece.repeated) {
    charge(Part::recomputed, Cause::preemption, take(step.gpu) * weight);
  } else {
    charge(Part::own_prefill, Cause::own, take(piece.alone) * weight);
    charge_batch(Part::prefill_stretched, step, step.decode, take(step.gpu - piece.alone), weight,
                 span.piece);
  }
  charge(Part::host_gap, Cause::host, take(step.host) * weight);
  charge(Part::transfer_wire, Cause::transfer, take(step.swapping) * weight);
  charge(Part::pipeline_wait, Cause::pipeline, left * weight);
  locate(span.instance, step.begin, (span.to - span.from) * weight);
}

void BlameSum::charge(Part part, Cause cause, Duration time) {
  if (time != Duration{}) blame_.time[{part, {.cause = cause}}] += time;
}

/// Shares `time` among the decodes of a step, as if they took `decode`, and its pieces but one.
void BlameSum::charge_batch(Part part, const LoggedStep& step, Duration decode, Duration time,
                            std::int64_t weight, std::size_t except) {
  if (time == Duration{}) return;
  const auto pieces = evidence_.log().pieces_of(step);
  std::vector<Duration> weights{decode};
  for (std::size_t i = 0; i < pieces.size(); ++i)
    weights.push_back(step.first_piece + i == except ? Duration{} : pieces[i].alone);
  std::vector<Duration> shares(weights.size());
  apportion(time, weights, shares);
  charge(part, Cause::decodes, shares[0] * weight);
  blame_.decode_rows += static_cast<double>(shares[0].count() * weight) * step.decode_sequences;
  const RequestRecords& records = evidence_.run().log.records;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Duration share = shares[i + 1] * weight;
    if (share == Duration{}) continue;
    blame_.time[{part, prompt_of(records[pieces[i].request])}] += share;
    std::vector<Duration>& by_request = blame_.by_request[part];
    if (by_request.empty()) by_request.resize(records.size());
    by_request[pieces[i].request] += share;
  }
}

void BlameSum::charge_cell(SpanKind kind, std::uint32_t instance, const Cell& cell, Duration time,
                           std::int64_t weight) {
  const Part part = part_of(kind, cell);
  if (cell.step == no_step) {
    charge(part, Cause::idle, time * weight);
    return locate(instance, cell.from, time * weight);
  }
  const LoggedStep& step = evidence_.log().instances()[instance].steps[cell.step];
  locate(instance, step.begin, time * weight);
  if (cell.host) return charge(part, Cause::host, time * weight);
  const std::array weights{step.decode, step.gpu - step.decode, step.waiting, step.swapping};
  std::array<Duration, 4> shares{};
  apportion(time, weights, shares);
  charge(part, Cause::decodes, shares[0] * weight);
  blame_.decode_rows += static_cast<double>(shares[0].count() * weight) * step.decode_sequences;
  charge_batch(part, step, {}, shares[1], weight, nobody);
  charge(part, Cause::pipeline, shares[2] * weight);
  charge(part, Cause::transfer, shares[3] * weight);
}

void BlameSum::charge_step(std::uint32_t instance, const LoggedStep& step, std::int64_t weight) {
  const Duration stretched = step.decode - step.decode_floor;
  charge(Part::host_gap, Cause::host, step.host * weight);
  charge(Part::transfer_wire, Cause::transfer, step.swapping * weight);
  charge(Part::decode_floor, Cause::own, step.decode_floor * weight);
  charge(Part::decode_stretched, Cause::decodes, stretched * weight);
  blame_.decode_rows += static_cast<double>(stretched.count() * weight) * step.decode_sequences;
  charge_batch(Part::decode_stalled, step, {}, step.gpu - step.decode, weight, nobody);
  charge(Part::pipeline_wait, Cause::pipeline, step.waiting * weight);
  locate(instance, step.begin, (step.end - step.begin) * weight);
}

void BlameSum::locate(std::uint32_t instance, TimePoint when, Duration time) {
  if (time == Duration{}) return;
  blame_.by_instance[instance] += time;
  const std::vector<FaultResult>& faults = evidence_.run().faults;
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const Fault& fault = faults[i].fault;
    const bool befalls = fault.kind == FaultKind::link_brownout ||
                         (fault.kind == FaultKind::straggler && fault.replica == instance);
    if (befalls && fault.at <= when && when < fault.to) blame_.by_fault[i] += time;
  }
}

/// KV is on its way for long: what of it a brown-out covers.
void BlameSum::locate_transfer(std::uint32_t instance, TimePoint from, TimePoint to,
                               std::int64_t weight) {
  blame_.by_instance[instance] += (to - from) * weight;
  const std::vector<FaultResult>& faults = evidence_.run().faults;
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const Fault& fault = faults[i].fault;
    if (fault.kind != FaultKind::link_brownout) continue;
    const Duration covered = std::min(to, fault.to) - std::max(from, fault.at);
    if (covered > Duration{}) blame_.by_fault[i] += covered * weight;
  }
}

Blame BlameSum::finish() {
  Holders holders(evidence_.cells().size());
  for (auto& [key, changes] : cells_)
    for_each_weight(changes, [&, &key = key](std::size_t i, std::int64_t weight) {
      const Cell& cell = evidence_.cells()[key.second][i];
      charge_cell(key.first, key.second, cell, cell.length(), weight);
      const Part part = part_of(key.first, cell);
      if (part == Part::wait_kv_blocks || part == Part::wait_sequence_slot ||
          part == Part::preempted)
        holders.ask(key.second, {.part = part, .from = cell.from, .time = cell.length() * weight});
    });
  blame_.holders = holders.count(evidence_.log(), evidence_.run());
  for (auto& [key, changes] : steps_) {
    const InstanceLog& log = evidence_.log().instances()[key.first];
    const std::vector<std::uint32_t>& batch = log.micro_batches[key.second];
    for_each_weight(changes, [&, &key = key](std::size_t i, std::int64_t weight) {
      charge_step(key.first, log.steps[batch[i]], weight);
    });
    for_each_weight(pauses_[key], [&, &key = key](std::size_t i, std::int64_t weight) {
      const Duration pause = (log.steps[batch[i]].begin - log.steps[batch[i - 1]].end) * weight;
      charge(Part::pipeline_wait, Cause::pipeline, pause);
      locate(key.first, log.steps[batch[i]].begin, pause);
    });
  }
  return std::move(blame_);
}

}  // namespace tokenline::report
