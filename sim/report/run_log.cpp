#include "sim/report/run_log.hpp"

#include <algorithm>

namespace tokenline::report {

TimePoint InstanceLog::ended(std::size_t step) const {
  const auto crash = std::ranges::upper_bound(crashes, step, {}, &LoggedCrash::steps);
  return crash == crashes.end() ? steps[step].end : std::min(steps[step].end, crash->from);
}

InstanceLog& RunLog::at(std::uint32_t instance) {
  if (instance >= instances_.size()) instances_.resize(instance + 1);
  return instances_[instance];
}

void RunLog::step(const ObservedStep& step) {
  InstanceLog& log = at(step.instance);
  const auto number = static_cast<std::uint32_t>(log.steps.size());
  if (step.micro_batch >= log.micro_batches.size()) log.micro_batches.resize(step.micro_batch + 1);
  std::vector<std::uint32_t>& batch = log.micro_batches[step.micro_batch];
  log.steps.push_back({.begin = step.begin,
                       .end = step.end,
                       .host = step.host,
                       .swapping = step.swapping,
                       .gpu = step.gpu,
                       .waiting = step.waiting,
                       .decode = step.decode,
                       .decode_floor = step.decode_floor,
                       .decode_context = step.decode_context,
                       .flops = step.flops,
                       .hbm_bytes = step.hbm_bytes,
                       .decode_sequences = static_cast<std::uint32_t>(step.decode_sequences),
                       .running = static_cast<std::uint32_t>(step.running),
                       .waiting_requests = static_cast<std::uint32_t>(step.waiting_requests),
                       .kv_used_blocks = static_cast<std::uint32_t>(step.kv_used_blocks),
                       .blocked = step.blocked,
                       .micro_batch = step.micro_batch,
                       .place = static_cast<std::uint32_t>(batch.size()),
                       .pieces = static_cast<std::uint32_t>(step.pieces.size()),
                       .first_piece = pieces_.size()});
  batch.push_back(number);
  for (const ObservedPiece& piece : step.pieces) {
    log.steps.back().prefill_tokens += static_cast<std::uint32_t>(piece.chunk.new_tokens);
    pieces_.push_back({.request = piece.request,
                       .instance = step.instance,
                       .step = number,
                       .last = piece.last,
                       .repeated = piece.repeated,
                       .in_vain = piece.in_vain,
                       .alone = piece.alone});
  }
}

void RunLog::sequence(const ObservedEvent& event) {
  const InstanceLog& log = at(event.instance);
  events_.push_back({.when = event.when,
                     .request = event.request,
                     .instance = event.instance,
                     .queue = event.queue,
                     .decisions = static_cast<std::uint32_t>(log.decisions.size()),
                     .steps = static_cast<std::uint32_t>(log.steps.size()),
                     .event = event.event});
}

void RunLog::decides(std::uint32_t instance, TimePoint when, Blocked waited) {
  at(instance).decisions.push_back({.when = when, .waited = waited});
}

void RunLog::down(std::uint32_t instance, TimePoint from, TimePoint until) {
  InstanceLog& log = at(instance);
  std::vector<LoggedCrash>& crashes = log.crashes;
  // What a second crash cuts short had ended at its time.
  if (!crashes.empty() && crashes.back().until > from) crashes.back().until = from;
  crashes.push_back(
      {.from = from, .until = until, .steps = static_cast<std::uint32_t>(log.steps.size())});
}

}  // namespace tokenline::report
