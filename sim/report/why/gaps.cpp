#include "sim/report/why/gaps.hpp"

#include <algorithm>

namespace tokenline::report {

const LoggedStep& Gaps::step(const Batch& batch, std::uint32_t place) const {
  const InstanceLog& log = evidence_.log().instances()[batch.first];
  return log.steps[log.micro_batches[batch.second][place]];
}

Gaps::Steps& Gaps::steps_of(const Batch& batch) {
  const auto [found, fresh] = steps_.try_emplace(batch);
  Steps& steps = found->second;
  if (!fresh) return steps;
  const auto& places = evidence_.log().instances()[batch.first].micro_batches[batch.second];
  for (std::uint32_t place = 0; place < places.size(); ++place)
    if (step(batch, place).decode_sequences > 0) steps.decodes.push_back(place);
  steps.changes.resize(steps.decodes.size() + 1);
  return steps;
}

void Gaps::emit(std::uint32_t request, TimePoint when) {
  if (when <= last_token_) return;
  own_.push_back({.value = when - last_token_,
                  .from = last_token_,
                  .to = when,
                  .request = request,
                  .steps = {}});
  last_token_ = when;
  ++counted_;
}

void Gaps::decode(std::uint32_t request, const Span& span) {
  const Batch batch{span.instance, span.micro_batch};
  Steps& steps = steps_of(batch);
  const auto index = [&](std::uint32_t place) {
    return std::ranges::lower_bound(steps.decodes, place) - steps.decodes.begin();
  };
  const auto first = index(span.first);
  const auto last = index(span.last);
  if (first == last) return;
  const auto end = [&](std::ptrdiff_t i) {
    return step(batch, steps.decodes[static_cast<std::size_t>(i)]).end;
  };
  emit(request, end(first));
  ++steps.changes[static_cast<std::size_t>(first) + 1];
  --steps.changes[static_cast<std::size_t>(last)];
  counted_ += last - first - 1;
  last_token_ = end(last - 1);
}

void Gaps::add(std::uint32_t request) {
  const RequestRecord& record = evidence_.run().log.records[request];
  last_token_ = record.first_token;
  counted_ = 1;
  for (const Span& span : evidence_.life(request)) {
    if (span.to <= record.first_token) continue;
    if (span.kind == SpanKind::decode)
      decode(request, span);
    else if (span.kind == SpanKind::piece && evidence_.log().pieces()[span.piece].last)
      emit(request, span.to);
  }
  at_once_ += record.output_tokens - counted_;
}

std::vector<Sample> Gaps::samples() {
  std::vector<Sample> all = std::move(own_);
  if (at_once_ > 0) all.push_back({.weight = at_once_, .request = {}, .steps = {}});
  for (const auto& [batch, steps] : steps_) {
    std::int64_t weight = 0;
    for (std::size_t i = 1; i < steps.decodes.size(); ++i) {
      weight += steps.changes[i];
      if (weight == 0) continue;
      const TimePoint from = step(batch, steps.decodes[i - 1]).end;
      const TimePoint to = step(batch, steps.decodes[i]).end;
      all.push_back({.value = to - from,
                     .weight = weight,
                     .from = from,
                     .to = to,
                     .request = {},
                     .steps = {.kind = SpanKind::decode,
                               .instance = batch.first,
                               .from = from,
                               .to = to,
                               .micro_batch = batch.second,
                               .first = steps.decodes[i - 1] + 1,
                               .last = steps.decodes[i] + 1}});
    }
  }
  return all;
}

}  // namespace tokenline::report
