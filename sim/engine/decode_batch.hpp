#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/sequence.hpp"

namespace tokenline {

/// The sequences that decode, as aggregates: every step advances each by one token (or, where
/// drafts are accepted, by more), so their number, the sum of their contexts and a step counter are
/// enough, and a step costs O(1) whatever the size of the batch. A sequence stores what it was when
/// it joined; what it is now is a subtraction.
class DecodeBatch {
 public:
  /// `max_remaining` bounds the tokens a sequence may still have to generate.
  DecodeBatch(SequenceStore& store, std::int64_t block_size, std::int64_t max_remaining);

  [[nodiscard]] std::int64_t size() const { return size_; }
  /// Σ of the tokens the sequences have in KV before the next step.
  [[nodiscard]] std::int64_t stored() const { return stored_; }
  /// New KV blocks that the next `tokens` tokens of each sequence start.
  [[nodiscard]] std::int64_t growth(std::int64_t tokens) const {
    std::int64_t blocks = 0;
    for (std::int64_t i = 0; i < tokens; ++i)
      blocks += growth_[static_cast<std::size_t>((steps_ + i) % block_size_)];
    return blocks;
  }

  /// A sequence whose prefill is stored and whose last token is emitted joins.
  void join(SequenceId id);
  /// A sequence leaves; its `generated` and `stored` are brought up to now.
  void leave(SequenceId id);
  /// New KV blocks that the next `tokens` tokens of the sequence start.
  [[nodiscard]] std::int64_t growth(SequenceId id, std::int64_t tokens) const;
  /// Tokens the sequence has in KV now, and tokens it still has to generate.
  [[nodiscard]] std::int64_t stored(SequenceId id) const;
  [[nodiscard]] std::int64_t remaining(SequenceId id) const;

  /// Every sequence advances by one token.
  void advance();
  /// After advance(): the sequence advances by `tokens` more, none of them beyond its last.
  void skip(SequenceId id, std::int64_t tokens);
  /// After advance(): the sequences that have emitted their last token, in the order of the running
  /// list. They are still in the batch. Valid until the next call.
  [[nodiscard]] const std::vector<SequenceId>& finished();

 private:
  using Bucket = SequenceList<&Sequence::finishing>;

  [[nodiscard]] std::size_t residue(const Sequence& sequence) const;
  [[nodiscard]] Bucket& bucket(std::int64_t step) {
    return finishing_[static_cast<std::size_t>(step) & (finishing_.size() - 1)];
  }

  SequenceStore& store_;
  std::int64_t block_size_;
  std::int64_t size_ = 0;
  std::int64_t stored_ = 0;
  std::int64_t steps_ = 0;
  /// growth_[r]: sequences that start a block in steps whose number is r modulo the block size.
  std::vector<std::int64_t> growth_;
  /// A ring of buckets by the step after which a sequence has finished.
  std::vector<Bucket> finishing_;
  std::vector<SequenceId> finished_;
};

}  // namespace tokenline
