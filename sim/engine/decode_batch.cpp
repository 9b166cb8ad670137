#include "sim/engine/decode_batch.hpp"

#include <algorithm>
#include <bit>

#include "sim/base/check.hpp"
#include "sim/base/integer.hpp"

namespace tokenline {

DecodeBatch::DecodeBatch(SequenceStore& store, std::int64_t block_size, std::int64_t max_remaining)
    : store_(store),
      block_size_(block_size),
      growth_(static_cast<std::size_t>(block_size)),
      finishing_(std::bit_ceil(static_cast<std::size_t>(max_remaining) + 1)) {}

std::size_t DecodeBatch::residue(const Sequence& sequence) const {
  // The step numbered s writes token stored + s − join_step, and starts a block when that is a
  // multiple of the block size.
  const std::int64_t r = (sequence.join_step - sequence.stored) % block_size_;
  return static_cast<std::size_t>(r < 0 ? r + block_size_ : r);
}

void DecodeBatch::join(SequenceId id) {
  Sequence& sequence = store_[id];
  const std::int64_t remaining = sequence.output_tokens - sequence.generated;
  TOKENLINE_CHECK(remaining > 0 && static_cast<std::size_t>(remaining) < finishing_.size(),
                  "request {} joins with {} tokens to generate", sequence.request, remaining);
  sequence.join_step = steps_;
  ++size_;
  stored_ += sequence.stored;
  ++growth_[residue(sequence)];
  bucket(steps_ + remaining).push_back(store_, id);
}

void DecodeBatch::leave(SequenceId id) {
  Sequence& sequence = store_[id];
  bucket(sequence.join_step + sequence.output_tokens - sequence.generated).erase(store_, id);
  --growth_[residue(sequence)];
  const std::int64_t steps = steps_ - sequence.join_step;
  sequence.generated += steps;
  sequence.stored += steps;
  --size_;
  stored_ -= sequence.stored;
}

std::int64_t DecodeBatch::growth(SequenceId id, std::int64_t tokens) const {
  const std::int64_t now = stored(id);
  return ceil_div(now + tokens, block_size_) - ceil_div(now, block_size_);
}

std::int64_t DecodeBatch::remaining(SequenceId id) const {
  const Sequence& sequence = store_[id];
  return sequence.output_tokens - sequence.generated - (steps_ - sequence.join_step);
}

std::int64_t DecodeBatch::stored(SequenceId id) const {
  return store_[id].stored + steps_ - store_[id].join_step;
}

void DecodeBatch::advance() {
  ++steps_;
  stored_ += size_;
}

void DecodeBatch::skip(SequenceId id, std::int64_t tokens) {
  if (tokens == 0) return;
  Sequence& sequence = store_[id];
  const std::int64_t ends = sequence.join_step + sequence.output_tokens - sequence.generated;
  TOKENLINE_CHECK(tokens <= ends - steps_, "{} tokens accepted, {} to generate", tokens,
                  ends - steps_);
  bucket(ends).erase(store_, id);
  --growth_[residue(sequence)];
  // It looks as if it had joined so much earlier.
  sequence.join_step -= tokens;
  ++growth_[residue(sequence)];
  bucket(ends - tokens).push_back(store_, id);
  stored_ += tokens;
}

const std::vector<SequenceId>& DecodeBatch::finished() {
  finished_.clear();
  for (SequenceId id = bucket(steps_).front(); id != no_sequence; id = store_[id].finishing.next)
    finished_.push_back(id);
  std::ranges::sort(finished_, {}, [this](SequenceId id) { return store_[id].order; });
  return finished_;
}

}  // namespace tokenline
