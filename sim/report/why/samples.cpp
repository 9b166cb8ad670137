#include "sim/report/why/samples.hpp"

#include <algorithm>

#include "sim/report/why/gaps.hpp"

namespace tokenline::report {

bool shorter(const Sample& a, const Sample& b) {
  return static_cast<stats::Int128>(a.value.count()) * b.tokens <
         static_cast<stats::Int128>(b.value.count()) * a.tokens;
}

Samples::Samples(const Evidence& evidence, Latency latency,
                 std::optional<std::uint32_t> class_index) {
  const RequestRecords& records = evidence.run().log.records;
  Gaps gaps(evidence);
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    const RequestRecord& record = records[i];
    if (!record.measured || record.outcome != Outcome::completed) continue;
    if (class_index && record.class_index != *class_index) continue;
    if (latency == Latency::itl)
      gaps.add(i);
    else
      add_request(evidence, latency, i);
  }
  if (latency == Latency::itl) samples_ = gaps.samples();
  std::ranges::stable_sort(samples_, shorter);
  for (const Sample& sample : samples_) ranks_.push_back(count_ += sample.weight);
}

void Samples::add_request(const Evidence& evidence, Latency latency, std::uint32_t request) {
  const RequestRecord& r = evidence.run().log.records[request];
  Sample sample{.request = request, .steps = {}};
  sample.from = latency == Latency::tpot ? r.first_token : r.arrival;
  sample.to = latency == Latency::ttft ? r.first_token : r.finish;
  sample.value = sample.to - sample.from;
  if (latency == Latency::tpot) {
    sample.tokens = r.output_tokens - 1;
    if (sample.tokens == 0) return;
  }
  samples_.push_back(sample);
}

std::size_t Samples::index_at(std::int64_t rank) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(ranks_, rank) - ranks_.begin());
}

const Sample& Samples::at_percent(std::int64_t percent) const {
  return samples_.at(index_at(rank(percent)));
}

std::vector<Sample> Samples::from_percent(std::int64_t percent) const {
  const auto first = std::ranges::lower_bound(samples_, at_percent(percent), shorter);
  return {first, samples_.end()};
}

std::vector<Sample> Samples::between_percent(std::int64_t low, std::int64_t high) const {
  std::vector<Sample> chosen;
  const std::int64_t last = rank(high);
  std::int64_t next = rank(low);
  for (std::size_t i = index_at(next); next <= last; ++i) {
    chosen.push_back(samples_.at(i));
    const std::int64_t end = std::min(ranks_[i], last);
    chosen.back().weight = end - next + 1;
    next = end + 1;
  }
  return chosen;
}

}  // namespace tokenline::report
