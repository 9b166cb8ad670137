#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/sequence.hpp"

namespace tokenline {

/// The sequences that decode, as aggregates: every step advances each by one token, so their
/// number, the sum of their contexts and a step counter are enough, and a step costs O(1) whatever
/// the size of the batch. A sequence stores what it was when it joined; what it is now is a
/// subtraction.
class DecodeBatch {
 public:
  /// `max_remaining` bounds the tokens a sequence may still have to generate.
  DecodeBatch(SequenceStore& store, std::int64_t block_size, std::int64_t max_remaining);

  [[nodiscard]] std::int64_t size() const { return size_; }
  /// Σ of the tokens the sequences have in KV before the next step.
  [[nodiscard]] std::int64_t stored() const { return stored_; }
  /// How many sequences start a new KV block in the next step.
  [[nodiscard]] std::int64_t growth() const {
    return growth_[static_cast<std::size_t>(steps_ % block_size_)];
  }

  /// A sequence whose prefill is stored and whose last token is emitted joins.
  void join(SequenceId id);
  /// A sequence leaves; its `generated` and `stored` are brought up to now.
  void leave(SequenceId id);
  /// Whether the sequence starts a new KV block in the next step.
  [[nodiscard]] bool needs_block(SequenceId id) const;
  /// Tokens the sequence has in KV now.
  [[nodiscard]] std::int64_t stored(SequenceId id) const;

  /// Every sequence advances by one token.
  void advance();
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
