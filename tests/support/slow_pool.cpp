#include "tests/support/slow_pool.hpp"

#include <algorithm>

namespace tokenline::test {

SlowPool::SlowPool(std::int64_t blocks, std::int64_t block_size)
    : block_size_(block_size), blocks_(static_cast<std::size_t>(blocks)) {
  for (std::int64_t id = 0; id < blocks; ++id) free_.push_back(id);
}

void SlowPool::write(std::int64_t request, SlowText text) {
  texts_[request] = std::make_shared<const SlowText>(std::move(text));
}

void SlowPool::rewrite(std::int64_t request, SlowText text) {
  const auto before = texts_[request];
  write(request, std::move(text));
  for (const std::int64_t id : tables_.at(request).blocks)
    if (Block& block = blocks_[static_cast<std::size_t>(id)]; block.text == before)
      block.text = texts_[request];
}

bool SlowPool::append(std::int64_t request, std::int64_t tokens) {
  const std::int64_t stored = tables_.contains(request) ? tables_[request].tokens : 0;
  const std::int64_t wanted = (stored + tokens + block_size_ - 1) / block_size_;
  if (wanted - table_size(request) > free()) return false;
  Table& table = tables_[request];
  while (static_cast<std::int64_t>(table.blocks.size()) < wanted) {
    blocks_[static_cast<std::size_t>(free_.front())] = {.holders = 1};
    table.blocks.push_back(free_.front());
    free_.pop_front();
  }
  table.tokens += tokens;
  const auto text = texts_.find(request);
  if (text == texts_.end()) return true;
  for (std::int64_t i = 0; (i + 1) * block_size_ <= table.tokens; ++i) {
    Block& block = blocks_[static_cast<std::size_t>(table.blocks[static_cast<std::size_t>(i)])];
    const std::int64_t end = (i + 1) * block_size_;
    if (block.text || end > static_cast<std::int64_t>(text->second->size())) continue;
    block.text = text->second;
    block.end = end;
    block.filled = fillings_++;
  }
  return true;
}

void SlowPool::reserve(std::int64_t request, std::int64_t tokens) {
  Table& table = tables_[request];
  while (static_cast<std::int64_t>(table.blocks.size()) * block_size_ < tokens) {
    blocks_[static_cast<std::size_t>(free_.front())] = {.holders = 1};
    table.blocks.push_back(free_.front());
    free_.pop_front();
  }
}

void SlowPool::give_up(std::int64_t block) {
  if (--blocks_[static_cast<std::size_t>(block)].holders == 0) free_.push_back(block);
}

void SlowPool::release(std::int64_t request) {
  std::vector<std::int64_t> table = tables_.at(request).blocks;
  std::ranges::reverse(table);
  for (const std::int64_t block : table) give_up(block);
  tables_.erase(request);
}

void SlowPool::truncate(std::int64_t request, std::int64_t tokens) {
  Table& table = tables_.at(request);
  table.tokens = tokens;
  for (std::size_t i = static_cast<std::size_t>(tokens / block_size_); i < table.blocks.size(); ++i)
    blocks_[static_cast<std::size_t>(table.blocks[i])].text.reset();
  while (static_cast<std::int64_t>(table.blocks.size()) >
         (tokens + block_size_ - 1) / block_size_) {
    give_up(table.blocks.back());
    table.blocks.pop_back();
  }
}

std::optional<std::int64_t> SlowPool::find_block(const SlowText& text, std::int64_t end) const {
  std::optional<std::int64_t> found;
  for (std::size_t id = 0; id < blocks_.size(); ++id) {
    const Block& block = blocks_[id];
    if (!block.text || block.end != end) continue;
    if (!std::equal(text.begin(), text.begin() + end, block.text->begin())) continue;
    if (!found || block.filled < blocks_[static_cast<std::size_t>(*found)].filled)
      found = static_cast<std::int64_t>(id);
  }
  return found;
}

std::vector<std::int64_t> SlowPool::find(std::int64_t request, std::int64_t tokens) const {
  const auto text = texts_.find(request);
  return text == texts_.end() ? std::vector<std::int64_t>{} : find(*text->second, tokens);
}

std::vector<std::int64_t> SlowPool::find(const SlowText& text, std::int64_t tokens) const {
  std::vector<std::int64_t> found;
  for (std::int64_t end = block_size_; end < tokens; end += block_size_) {
    const auto block = find_block(text, end);
    if (!block) break;
    found.push_back(*block);
  }
  return found;
}

std::int64_t SlowPool::count_free(const std::vector<std::int64_t>& blocks) const {
  return std::ranges::count_if(blocks, [this](std::int64_t id) {
    return blocks_[static_cast<std::size_t>(id)].holders == 0;
  });
}

void SlowPool::share(std::int64_t request, const std::vector<std::int64_t>& blocks) {
  if (blocks.empty()) return;
  for (const std::int64_t block : blocks) {
    if (blocks_[static_cast<std::size_t>(block)].holders++ == 0) std::erase(free_, block);
  }
  tables_[request] = {.blocks = blocks,
                      .tokens = static_cast<std::int64_t>(blocks.size()) * block_size_};
}

std::int64_t SlowPool::table_size(std::int64_t request) const {
  const auto found = tables_.find(request);
  return found == tables_.end() ? 0 : static_cast<std::int64_t>(found->second.blocks.size());
}

}  // namespace tokenline::test
