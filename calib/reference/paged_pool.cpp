#include "calib/reference/paged_pool.hpp"

#include <algorithm>

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
    contents_.erase(free_.front());
    holding.table.push_back(free_.front());
    free_.pop_front();
  }
  return true;
}

void PagedPool::release(std::int64_t request) {
  const auto found = held_.find(request);
  TOKENLINE_CHECK(found != held_.end(), "request {} holds no blocks", request);
  const auto& [table, tokens] = found->second;
  for (auto index = static_cast<std::int64_t>(table.size()) - 1; index >= 0; --index) {
    const std::int64_t id = table[static_cast<std::size_t>(index)];
    free_.push_back(id);
    if ((index + 1) * block_size_ <= tokens) contents_[id] = {request, index};
  }
  held_.erase(found);
}

void PagedPool::truncate(std::int64_t request, std::int64_t tokens) {
  const auto found = held_.find(request);
  TOKENLINE_CHECK(found != held_.end(), "request {} holds no blocks", request);
  Holding& holding = found->second;
  TOKENLINE_CHECK(tokens >= 1 && tokens <= holding.tokens, "{} of {} tokens of request {} kept",
                  tokens, holding.tokens, request);
  holding.tokens = tokens;
  const std::int64_t kept = (tokens + block_size_ - 1) / block_size_;
  while (static_cast<std::int64_t>(holding.table.size()) > kept) {
    free_.push_back(holding.table.back());
    holding.table.pop_back();
  }
}

std::optional<std::int64_t> PagedPool::find(Contents contents) const {
  const auto holds = [&](std::int64_t id) {
    return contents_.contains(id) && contents_.at(id) == contents;
  };
  const auto id = std::ranges::find_if(free_, holds);
  if (id == free_.end()) return {};
  return *id;
}

std::int64_t PagedPool::found(std::int64_t request) const {
  std::int64_t blocks = 0;
  while (find({request, blocks})) ++blocks;
  return blocks * block_size_;
}

void PagedPool::take_back(std::int64_t request) {
  TOKENLINE_CHECK(!held_.contains(request), "request {} holds blocks", request);
  Holding holding;
  for (std::int64_t index = 0; const auto id = find({request, index}); ++index) {
    std::erase(free_, *id);
    contents_.erase(*id);
    holding.table.push_back(*id);
    holding.tokens += block_size_;
  }
  if (!holding.table.empty()) held_[request] = holding;
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
