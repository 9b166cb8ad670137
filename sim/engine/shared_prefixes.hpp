#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/engine/kv_tiers.hpp"
#include "sim/engine/prefix_cache.hpp"
#include "sim/engine/request.hpp"
#include "sim/engine/sequence.hpp"
#include "workloads/traffic/source.hpp"

namespace tokenline {

/// The conversation that a request is a turn of, if any: a text that does not end.
[[nodiscard]] std::optional<std::uint64_t> conversation_of(const traffic::Content& content);
/// Whether a run needs to know what its requests begin with.
[[nodiscard]] bool begin_alike(const traffic::Traffic& traffic);

/// What the sequences of an instance find in its PrefixCache, hold of it and leave there: vLLM V1's
/// KVCacheManager (vllm/v1/core/kv_cache_manager.py). Blocks of a prompt are found by others from
/// when they are scheduled. Those of which nobody else can ask are given a hash only when their own
/// sequence is preempted, and those of an answer when they are released: until then nobody asks.
/// O(blocks) when a request is looked up, admitted or released, nothing in a step.
class SharedPrefixes {
 public:
  /// The traffic must outlive it.
  SharedPrefixes(std::int64_t blocks, std::int64_t block_size, const traffic::Traffic& traffic)
      : traffic_(traffic), block_size_(block_size), cache_(blocks) {}

  [[nodiscard]] PrefixCache& cache() { return cache_; }
  [[nodiscard]] const PrefixCache& cache() const { return cache_; }

  /// `id` is a request that comes, in an attempt whose answer is known to nobody until deliver()
  /// where its client may give it up.
  void begin(SequenceId id, std::uint32_t request, const RequestRecord& record);
  /// The answer is complete, and its client has it: a conversation goes on from there.
  void deliver(SequenceId id, std::uint32_t request, const RequestRecord& record);
  /// Tokens of a request's prompt that a look-up would find; it need not be here.
  [[nodiscard]] std::int64_t count_cached(std::uint32_t request, const RequestRecord& record) const;
  /// Looks up a waiting sequence whose prefill is `tokens` long; the last of them is always
  /// computed. Returns the tokens that are there.
  std::int64_t look_up(SequenceId id, std::int64_t tokens, bool preempted);
  /// After look_up(): tokens behind those that `tiers` have; the last one is computed here too.
  std::int64_t look_further(SequenceId id, std::int64_t tokens, bool preempted,
                            const KvTiers& tiers);
  [[nodiscard]] std::int64_t external(SequenceId id) const {
    return static_cast<std::int64_t>(entries_[id].external) * block_size_;
  }
  /// Hashes of the blocks [first, last) of a sequence.
  [[nodiscard]] std::span<const std::uint64_t> hashes(SequenceId id, std::int64_t first,
                                                      std::int64_t last);
  /// What look_further() gave is in the blocks that a sequence holds: found() counts it.
  void loaded(SequenceId id);
  /// Of the blocks found by the last look_up() those that other sequences hold.
  [[nodiscard]] std::int64_t held_by_others(SequenceId id) const;
  /// It is admitted: it holds what the last look_up() found. Returns the blocks of that which were
  /// free until then. Once more changes nothing.
  std::int64_t take_found(SequenceId id);
  /// Tokens that the last look_up() found.
  [[nodiscard]] std::int64_t found(SequenceId id) const {
    return static_cast<std::int64_t>(entries_[id].found) * block_size_;
  }
  /// Its first `tokens` tokens are stored or being computed: others find the full blocks.
  void publish(SequenceId id, std::int64_t tokens);
  /// What it holds beyond what it found has not been filled: nobody will find that.
  void never_stored(SequenceId id) { entries_[id].shared = 0; }
  /// Gives up what it holds, `stored` tokens, last block first; after a preemption it may find them
  /// again itself. Returns the blocks that are free now.
  std::int64_t release(SequenceId id, std::int64_t stored, bool preempted);
  /// Tokens that it gave up in its last preemption.
  [[nodiscard]] std::int64_t given_up(SequenceId id) const { return entries_[id].given_up; }
  /// Blocks that would be free if it gave up `stored` tokens, after those asked about since the
  /// last `first`.
  std::int64_t would_free(SequenceId id, std::int64_t stored, bool first);

 private:
  /// Beside a Sequence.
  struct Entry {
    traffic::Content content;             ///< Ends with an endless run.
    std::int64_t shared = 0;              ///< Tokens that others may begin with.
    bool delivered = true;                ///< Others may begin with the answer.
    std::size_t run = 0;                  ///< Where the block behind `hashes` begins: in this run,
    std::int64_t offset = 0;              ///< behind so many of its tokens.
    std::vector<std::uint64_t> hashes{};  ///< Chained: of all up to the end of a block.
    std::vector<PrefixCache::BlockId> table{};  ///< First blocks: held, or found.
    std::size_t found = 0;                      ///< By the last look-up.
    std::size_t external = 0;                   ///< By the last look_further(), behind `found`.
    std::int64_t were_free = 0;                 ///< Of `table` when it was taken.
    bool holds = false;
    std::int64_t given_up = 0;
  };
  [[nodiscard]] Entry entry_of(std::uint32_t request, const RequestRecord& record) const;
  [[nodiscard]] Entry whole_entry(std::uint32_t request, const RequestRecord& record) const;
  std::uint64_t hash(Entry& entry, std::size_t block) const;
  [[nodiscard]] std::size_t shared_blocks(const Entry& entry, std::int64_t tokens) const {
    return static_cast<std::size_t>(std::min(entry.shared, tokens) / block_size_);
  }

  const traffic::Traffic& traffic_;
  std::int64_t block_size_;
  PrefixCache cache_;
  std::vector<Entry> entries_;
  std::unordered_map<PrefixCache::BlockId, std::uint32_t> leaving_;  ///< would_free()'s sequences.
};

}  // namespace tokenline
