// What a step of an instance costs, and to which part of which request its time belongs.
#include <algorithm>

#include "sim/engine/instance.hpp"

namespace tokenline {
namespace {

enum Shared : std::uint8_t { host_gap, floor_, stretched, stalled };

}  // namespace

hw::StepShape Instance::decode_shape() const {
  if (!plan_.decode) return {};
  const std::int64_t rows = batch_.size() + static_cast<std::int64_t>(held_.size());
  return {.decode_sequences = rows,
          .decode_context = batch_.stored() + held_stored_ + rows,
          .chunks = {},
          .sampled = rows};
}

Duration Instance::gpu_time(const hw::StepShape& shape) const {
  return to_duration(cost_.price(shape).time);
}

Bytes Instance::step_activations() const {
  // A reserved pool leaves room for the peak of the profile run, whatever the step.
  if (config_.kv_sizing != KvSizing::on_demand) return memory_.activation_peak;
  const hw::StepShape decodes = decode_shape();
  std::int64_t tokens = decodes.decode_sequences;
  std::int64_t sampled = decodes.sampled;
  std::int64_t scores = 0;
  for (const PrefillPiece& piece : pieces_) {
    tokens += piece.chunk.new_tokens;
    sampled += piece.last ? 1 : 0;
    scores = std::max(scores,
                      piece.chunk.new_tokens * (piece.chunk.past_tokens + piece.chunk.new_tokens));
  }
  return cost_.activations(tokens, sampled, scores);
}

void Instance::price_step() {
  chunks_.clear();
  hw::StepShape shape = decode_shape();
  std::int64_t tokens = shape.decode_sequences;
  for (const PrefillPiece& piece : pieces_) {
    chunks_.push_back(piece.chunk);
    tokens += piece.chunk.new_tokens;
    shape.sampled += piece.last ? 1 : 0;
  }
  shape.chunks = chunks_;
  const hw::Price full = cost_.price(shape);
  const Duration gpu = to_duration(full.time);
  const Duration host = config_.host_time(
      {.sequences = shape.decode_sequences + static_cast<std::int64_t>(pieces_.size()),
       .first_admissions = first_admissions_,
       .tokens = tokens,
       .prompts = !pieces_.empty()},
      gpu);
  boundary_ = simulation_.now() + host + gpu;
  waited_[static_cast<std::size_t>(plan_.blocked)] += host + gpu;
  TOKENLINE_CHECK((visible_ == 0) == (plan_.blocked == Blocked::nothing),
                  "at {} ns {} requests wait and the scheduler gives {} as the reason",
                  simulation_.now().time_since_epoch().count(), visible_,
                  static_cast<int>(plan_.blocked));
  charge_unseen(host + gpu);
  const DecodeShare share = split_decode(gpu);
  decoded_[host_gap] += host;
  decoded_[floor_] += share.floor;
  decoded_[stretched] += share.stretched;
  decoded_[stalled] += share.stalled;
  charge_prefills(gpu, host);
  count_step(full, gpu, host);
}

void Instance::charge_unseen(Duration step) {
  for (auto i = static_cast<std::size_t>(visible_); i < waiting_.size(); ++i) {
    Sequence& sequence = store_[waiting_[i]];
    record(sequence).parts[Part::wait_step] += step;
    sequence.snapshot = waited_;
  }
}

Instance::DecodeShare Instance::split_decode(Duration gpu) const {
  if (!plan_.decode) return {.floor = {}, .stretched = {}, .stalled = gpu};
  const hw::StepShape decodes = decode_shape();
  // A kernel may run faster on more work (tile shapes); a part is never negative.
  const Duration alone = pieces_.empty() ? gpu : std::min(gpu, gpu_time(decodes));
  const Duration floor =
      decodes.decode_sequences == 1
          ? alone
          : std::min(alone,
                     gpu_time({.decode_sequences = 1,
                               .decode_context = decodes.decode_context / decodes.decode_sequences,
                               .chunks = {},
                               .sampled = 1}));
  return {.floor = floor, .stretched = alone - floor, .stalled = gpu - alone};
}

void Instance::charge_prefills(Duration gpu, Duration host) {
  const bool shared = plan_.decode || pieces_.size() > 1;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const PrefillPiece& piece = pieces_[i];
    const Sequence& sequence = store_[piece.id];
    tokenline::Parts& parts = record(sequence).parts;
    parts[Part::host_gap] += host;
    if (piece.chunk.past_tokens < sequence.thrown_away) {
      parts[Part::recomputed] += gpu;
      continue;
    }
    const Duration own = shared ? std::min(gpu, gpu_time({.decode_sequences = 0,
                                                          .decode_context = 0,
                                                          .chunks = {&chunks_[i], 1},
                                                          .sampled = piece.last ? 1 : 0}))
                                : gpu;
    parts[Part::own_prefill] += own;
    parts[Part::prefill_stretched] += gpu - own;
  }
  // A partial prefill that got nothing of this step's budget.
  if (partial_ != no_sequence)
    record(store_[partial_]).parts[Part::wait_token_budget] += host + gpu;
}

void Instance::count_step(const hw::Price& full, Duration gpu, Duration host) {
  std::int64_t new_tokens = 0;
  for (const hw::Chunk& chunk : chunks_) new_tokens += chunk.new_tokens;
  ++stats_.steps;
  stats_.busy += host + gpu;
  stats_.gpu += gpu;
  stats_.flops += full.flops;
  stats_.hbm_bytes += full.bytes;
  stats_.price_error += full.error;
  stats_.off_grid += full.off_grid;
  stats_.prefilled_tokens += new_tokens;
  const double seconds = to_seconds(host + gpu).value();
  stats_.running_seconds += seconds * static_cast<double>(running());
  stats_.waiting_seconds += seconds * static_cast<double>(queue_length());
  stats_.kv_allocated_seconds += seconds * static_cast<double>(pool_.used() * limits_.block_size);
  const std::int64_t stored = batch_.stored() + (plan_.decode ? batch_.size() : 0) + held_stored_ +
                              prefilling_stored_ + new_tokens;
  stats_.kv_stored_seconds += seconds * static_cast<double>(stored);
}

void Instance::begin_waiting(Sequence& sequence) {
  sequence.snapshot = waited_;
  const TimePoint now = simulation_.now();
  if (stepping_) record(sequence).parts[Part::wait_step] += boundary_ - now;
  if (down_) record(sequence).parts[Part::restart] += boundary_ - now;
}

void Instance::end_waiting(Sequence& sequence) {
  static constexpr std::array parts{Part::wait_step, Part::wait_sequence_slot, Part::wait_kv_blocks,
                                    Part::wait_token_budget};
  for (std::size_t i = 1; i < parts.size(); ++i)
    record(sequence).parts[parts[i]] += waited_[i] - sequence.snapshot[i];
}

void Instance::begin_decoding(Sequence& sequence) { sequence.snapshot = decoded_; }

void Instance::end_decoding(Sequence& sequence) {
  static constexpr std::array parts{Part::host_gap, Part::decode_floor, Part::decode_stretched,
                                    Part::decode_stalled};
  for (std::size_t i = 0; i < parts.size(); ++i)
    record(sequence).parts[parts[i]] += decoded_[i] - sequence.snapshot[i];
}

}  // namespace tokenline
