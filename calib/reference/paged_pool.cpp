#include "calib/reference/paged_pool.hpp"

#include "sim/base/check.hpp"

namespace tokenline::reference {

PagedPool::PagedPool(std::int64_t blocks, std::int64_t block_size)
    : blocks_(blocks), block_size_(block_size) {
  TOKENLINE_CHECK(blocks >= 1 && block_size >= 1, "a pool of {} blocks of {} tokens", blocks,
                  block_size);
  for (std::int64_t id = 0; id < blocks; ++id) free_.push_back(id);
}

bool PagedPool::append(std::int64_t request, std::int64_t tokens, std::int64_t leave_free) {
  TOKENLINE_CHECK(tokens >= 1, "{} tokens appended to request {}", tokens, request);
  const auto found = held_.find(request);
  const std::int64_t stored = found == held_.end() ? 0 : found->second.tokens;
  const std::int64_t room =
      found == held_.end() ? 0
                           : static_cast<std::int64_t>(found->second.table.size()) * block_size_;
  const std::int64_t missing = stored + tokens - room;
  const std::int64_t taken = missing <= 0 ? 0 : (missing + block_size_ - 1) / block_size_;
  if (taken > 0 && free() - taken < leave_free) return false;

  Holding& holding = held_[request];
  holding.tokens += tokens;
  for (std::int64_t i = 0; i < taken; ++i) {
    holding.table.push_back(free_.front());
    free_.pop_front();
  }
  return true;
}

void PagedPool::release(std::int64_t request) {
  const auto found = held_.find(request);
  TOKENLINE_CHECK(found != held_.end(), "request {} holds no blocks", request);
  for (const std::int64_t id : found->second.table) free_.push_back(id);
  held_.erase(found);
}

std::vector<std::int64_t> PagedPool::table(std::int64_t request) const {
  const auto found = held_.find(request);
  return found == held_.end() ? std::vector<std::int64_t>{} : found->second.table;
}

std::int64_t PagedPool::tokens(std::int64_t request) const {
  const auto found = held_.find(request);
  return found == held_.end() ? 0 : found->second.tokens;
}

std::int64_t PagedPool::unused_places() const {
  std::int64_t places = used() * block_size_;
  for (const auto& [request, holding] : held_) places -= holding.tokens;
  return places;
}

}  // namespace tokenline::reference
