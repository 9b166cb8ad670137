#include "sim/engine/shared_prefixes.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/base/integer.hpp"

namespace tokenline {
namespace {

using traffic::ContentRun;

/// Texts that only one request has, by request,
constexpr std::uint64_t own_text = 1;
/// and answers of an attempt, by request and attempt.
constexpr std::uint64_t own_answer = 2;

}  // namespace

std::optional<std::uint64_t> conversation_of(const traffic::Content& content) {
  if (content.empty() || content.back().tokens != ContentRun::endless) return {};
  return content.back().id;
}

bool begin_alike(const traffic::Traffic& traffic) {
  return std::ranges::any_of(traffic.sources, [](const auto& source) { return source->shares(); });
}

void SharedPrefixes::begin(SequenceId id, std::uint32_t request, const RequestRecord& record) {
  if (entries_.size() <= id) entries_.resize(id + 1);
  entries_[id] = entry_of(request, record);
}

void SharedPrefixes::deliver(SequenceId id, std::uint32_t request, const RequestRecord& record) {
  Entry& entry = entries_[id];
  if (std::exchange(entry.delivered, true)) return;
  Entry whole = whole_entry(request, record);
  if (whole.shared <= entry.shared) return;  // Nobody asks for it.
  entry.content = std::move(whole.content);
  entry.shared = whole.shared;
  entry.hashes.clear();
  entry.run = 0;
  entry.offset = 0;
  // What a preemption has made known to itself.
  for (auto i = static_cast<std::size_t>(record.prompt_tokens / block_size_);
       i < entry.table.size(); ++i)
    cache_.rename(entry.table[i], hash(entry, i));
}

SharedPrefixes::Entry SharedPrefixes::entry_of(std::uint32_t request,
                                               const RequestRecord& record) const {
  Entry entry = whole_entry(request, record);
  const traffic::Client& client = traffic_.classes[record.class_index].client;
  if (!client.timeout && !client.ttft_timeout) return entry;
  // Another attempt has the same prompt, and may be beside this one; its answer is another one.
  std::int64_t left = record.prompt_tokens;
  for (ContentRun& run : entry.content) {
    run.tokens = std::min(run.tokens, left);
    left -= run.tokens;
  }
  std::erase_if(entry.content, [](const ContentRun& run) { return run.tokens == 0; });
  const std::uint64_t attempt = (static_cast<std::uint64_t>(request) << 32U) | record.retries;
  entry.content.push_back({traffic::content_id(own_answer, attempt), ContentRun::endless});
  entry.shared =
      client.attempts > 1 ? record.prompt_tokens : std::min(entry.shared, record.prompt_tokens);
  entry.delivered = false;
  return entry;
}

SharedPrefixes::Entry SharedPrefixes::whole_entry(std::uint32_t request,
                                                  const RequestRecord& record) const {
  Entry entry{.content = traffic_.sources[record.source]->content(record.session)};
  for (const ContentRun& run : entry.content)
    entry.shared += std::min(run.tokens, ContentRun::endless - entry.shared);
  entry.content.push_back({traffic::content_id(own_text, request), ContentRun::endless});
  return entry;
}

std::int64_t SharedPrefixes::count_cached(std::uint32_t request,
                                          const RequestRecord& record) const {
  Entry entry = entry_of(request, record);
  const std::size_t most = shared_blocks(entry, record.prompt_tokens - 1);
  std::size_t found = 0;
  while (found < most && cache_.find(hash(entry, found)) != PrefixCache::no_block) ++found;
  return static_cast<std::int64_t>(found) * block_size_;
}

std::uint64_t SharedPrefixes::hash(Entry& entry, std::size_t block) const {
  while (entry.hashes.size() <= block) {
    std::uint64_t chained = entry.hashes.empty() ? 0 : entry.hashes.back();
    for (std::int64_t left = block_size_; left > 0;) {
      const ContentRun& run = entry.content[entry.run];
      const std::int64_t tokens = std::min(left, run.tokens - entry.offset);
      for (const auto value :
           {run.id, static_cast<std::uint64_t>(entry.offset), static_cast<std::uint64_t>(tokens)})
        chained = traffic::mixed(chained, value);
      left -= tokens;
      entry.offset += tokens;
      if (entry.offset < run.tokens) continue;
      ++entry.run;
      entry.offset = 0;
    }
    entry.hashes.push_back(chained);
  }
  return entry.hashes[block];
}

std::int64_t SharedPrefixes::look_up(SequenceId id, std::int64_t tokens, bool preempted) {
  Entry& entry = entries_[id];
  const std::int64_t last = tokens - 1;
  const std::size_t most =
      preempted ? static_cast<std::size_t>(last / block_size_) : shared_blocks(entry, last);
  std::size_t found = 0;
  for (; found < most; ++found) {
    const std::uint64_t wanted = hash(entry, found);
    if (found == entry.table.size()) entry.table.push_back(PrefixCache::no_block);
    PrefixCache::BlockId& block = entry.table[found];
    // Why remembered: a request that waits for blocks is looked up in every step.
    if (block == PrefixCache::no_block || !cache_.has(block, wanted)) block = cache_.find(wanted);
    if (block == PrefixCache::no_block) break;
  }
  entry.found = found;
  return static_cast<std::int64_t>(found) * block_size_;
}

std::int64_t SharedPrefixes::look_further(SequenceId id, std::int64_t tokens, bool preempted,
                                          const KvTiers& tiers) {
  Entry& entry = entries_[id];
  const std::int64_t last = tokens - 1;
  const std::size_t most =
      preempted ? static_cast<std::size_t>(last / block_size_) : shared_blocks(entry, last);
  std::size_t end = entry.found;
  while (end < most && tiers.has(hash(entry, end))) ++end;
  entry.external = end - entry.found;
  return external(id);
}

std::span<const std::uint64_t> SharedPrefixes::hashes(SequenceId id, std::int64_t first,
                                                      std::int64_t last) {
  Entry& entry = entries_[id];
  if (last > 0) (void)hash(entry, static_cast<std::size_t>(last - 1));
  return std::span<const std::uint64_t>(entry.hashes)
      .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
}

void SharedPrefixes::loaded(SequenceId id) {
  Entry& entry = entries_[id];
  entry.found += entry.external;
  publish(id, found(id));
}

std::int64_t SharedPrefixes::held_by_others(SequenceId id) const {
  const Entry& entry = entries_[id];
  return std::count_if(entry.table.begin(),
                       entry.table.begin() + static_cast<std::ptrdiff_t>(entry.found),
                       [this](PrefixCache::BlockId block) { return cache_.references(block) > 0; });
}

std::int64_t SharedPrefixes::take_found(SequenceId id) {
  Entry& entry = entries_[id];
  if (entry.holds) return entry.were_free;
  entry.table.resize(entry.found);
  entry.holds = true;
  entry.were_free = 0;
  for (const PrefixCache::BlockId block : entry.table)
    entry.were_free += cache_.take(block) ? 1 : 0;
  return entry.were_free;
}

void SharedPrefixes::publish(SequenceId id, std::int64_t tokens) {
  Entry& entry = entries_[id];
  TOKENLINE_CHECK(entry.holds, "a sequence stores {} tokens before it is admitted", tokens);
  const std::size_t full = shared_blocks(entry, tokens);
  while (entry.table.size() < full)
    entry.table.push_back(cache_.publish(hash(entry, entry.table.size())));
}

std::int64_t SharedPrefixes::release(SequenceId id, std::int64_t stored, bool preempted) {
  Entry& entry = entries_[id];
  const std::size_t held = entry.table.size();
  const std::size_t full = std::max(held, preempted ? static_cast<std::size_t>(stored / block_size_)
                                                    : shared_blocks(entry, stored));
  const std::int64_t blocks = ceil_div(stored, block_size_);
  const std::int64_t blank = blocks - static_cast<std::int64_t>(full);
  TOKENLINE_CHECK(blank >= 0, "{} blocks of {} tokens have been published", held, stored);
  cache_.give_back(blank);
  std::int64_t freed = blank;
  if (full > 0) (void)hash(entry, full - 1);
  for (std::size_t i = full; i-- > 0;)
    freed += cache_.drop(i < held ? entry.table[i] : cache_.publish(entry.hashes[i])) ? 1 : 0;
  entry.table.clear();
  entry.holds = false;
  entry.given_up = stored;
  return freed;
}

std::int64_t SharedPrefixes::would_free(SequenceId id, std::int64_t stored, bool first) {
  if (first) leaving_.clear();
  const Entry& entry = entries_[id];
  std::int64_t freed =
      ceil_div(stored, block_size_) - static_cast<std::int64_t>(entry.table.size());
  for (const PrefixCache::BlockId block : entry.table)
    freed += ++leaving_[block] == cache_.references(block) ? 1 : 0;
  return freed;
}

}  // namespace tokenline
