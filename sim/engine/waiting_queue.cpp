#include "sim/engine/waiting_queue.hpp"

#include <algorithm>
#include <utility>

namespace tokenline {

WaitingQueue::WaitingQueue(const SequenceStore& store, const RequestLog& log,
                           std::unique_ptr<RequestQueue> order, std::size_t micro_batches)
    : store_(store),
      log_(log),
      order_(std::move(order)),
      counts_service_(order_ != nullptr && order_->counts_service()) {
  if (counts_service_)
    decoding_.assign(micro_batches, std::vector<std::int64_t>(log.token_gaps.size()));
}

void WaitingQueue::put_in_order(std::size_t count) {
  while (preempted_ + ordered_ < count) {
    const auto next = line_.begin() + static_cast<std::ptrdiff_t>(preempted_);
    const std::uint32_t request = store_[*next].request;
    const RequestRecord& record = log_.records[request];
    order_->push({.handle = *next,
                  .number = request,
                  .class_index = record.class_index,
                  .class_number = record.class_number,
                  .arrival = record.arrival,
                  .prompt_tokens = record.prompt_tokens,
                  .output_tokens = record.output_tokens});
    line_.erase(next);
    ++ordered_;
  }
}

void WaitingQueue::serve(std::uint32_t micro_batch) {
  const std::vector<std::int64_t>& counts = decoding_[micro_batch];
  for (std::size_t c = 0; c < counts.size(); ++c)
    if (counts[c] > 0) order_->served(static_cast<std::uint32_t>(c), counts[c]);
}

std::size_t WaitingQueue::remove(SequenceId id) {
  std::size_t place = 0;
  while ((*this)[place] != id) ++place;
  tokens_ -= store_[id].prefill_tokens;
  if (ordered_ > 0 && place >= preempted_ && place < preempted_ + ordered_) {
    order_->remove(id);
    --ordered_;
    return place;
  }
  const std::size_t in_line = place < preempted_ ? place : place - ordered_;
  line_.erase(line_.begin() + static_cast<std::ptrdiff_t>(in_line));
  if (place < preempted_) --preempted_;
  return place;
}

void WaitingQueue::clear() {
  line_.clear();
  preempted_ = 0;
  ordered_ = 0;
  tokens_ = 0;
  if (order_ != nullptr) order_->clear();
  for (auto& counts : decoding_) std::ranges::fill(counts, 0);
}

}  // namespace tokenline
