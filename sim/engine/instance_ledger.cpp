// What a step of an instance costs, and to which part of which request its time belongs.
#include <algorithm>

#include "sim/engine/instance.hpp"

namespace tokenline {
namespace {

enum Shared : std::uint8_t { host_gap, floor_, stretched, stalled, pipeline_wait, swapping };

constexpr Duration unknown{-1};

}  // namespace

hw::StepShape Instance::decode_shape() const {
  if (!plan_.decode) return {};
  const MicroBatch& batch = here();
  const std::int64_t rows = batch.decoding.size() + static_cast<std::int64_t>(batch.held.size());
  return {
      .decode_sequences = rows,
      .decode_context = batch.decoding.stored() + batch.held_stored + rows * tokens_per_decode(),
      .chunks = {},
      .sampled = rows * tokens_per_decode(),
      .decode_queries = tokens_per_decode()};
}

hw::Price Instance::stage_price(std::size_t stage, const hw::StepShape& shape) const {
  hw::Price price = prices_->stage(stage).price(shape);
  if (drafts_ > 0) price += speculator_->price(shape, drafts_);
  if (slowdown_ != 1.0) price.stretch(slowdown_);
  return price;
}

Duration Instance::gpu_time(const hw::StepShape& shape) const {
  Duration sum{};
  for (std::size_t i = 0; i < cost_.stages(); ++i) sum += to_duration(stage_price(i, shape).time);
  return sum;
}

Bytes Instance::memory_asked() const {
  // A reserved pool leaves room for the peak of the profile run, whatever the step.
  if (config_.kv_sizing != KvSizing::on_demand) return reserved_memory_;
  const hw::StepShape decodes = decode_shape();
  std::int64_t tokens = decodes.decode_sequences * decodes.decode_queries;
  std::int64_t sampled = decodes.sampled;
  std::int64_t scores = 0;
  for (const PrefillPiece& piece : here().pieces) {
    tokens += piece.chunk.new_tokens;
    sampled += piece.last ? 1 : 0;
    scores = std::max(scores,
                      piece.chunk.new_tokens * (piece.chunk.past_tokens + piece.chunk.new_tokens));
  }
  Bytes asked;
  for (std::size_t i = 0; i < memory_.size(); ++i)
    asked = std::max(asked, memory_[i].in_use(config_.kv_sizing, pool_.used(),
                                              cost_.stage(i).activations(tokens, sampled, scores)));
  return asked;
}

void Instance::price_step() {
  MicroBatch& batch = here();
  chunks_.clear();
  hw::StepShape shape = decode_shape();
  std::int64_t tokens = shape.decode_sequences * shape.decode_queries;
  for (const PrefillPiece& piece : batch.pieces) {
    chunks_.push_back(piece.chunk);
    tokens += piece.chunk.new_tokens;
    shape.sampled += piece.last ? 1 : 0;
  }
  shape.chunks = chunks_;
  const Passage passage = pass(
      shape, {.sequences = shape.decode_sequences + static_cast<std::int64_t>(batch.pieces.size()),
              .first_admissions = first_admissions_,
              .tokens = tokens,
              .prompts = !batch.pieces.empty()});
  const DecodeShare share = split_decode(passage.gpu);
  batch.decoded[host_gap] += passage.host;
  batch.decoded[floor_] += share.floor;
  batch.decoded[stretched] += share.stretched;
  batch.decoded[stalled] += share.stalled;
  batch.decoded[pipeline_wait] += passage.waiting;
  batch.decoded[swapping] += passage.swapping;
  batch.decodes = plan_.decode;
  batch.drafts = plan_.decode ? drafts_ : 0;
  batch.end = passage.end;
  charge_prefills(passage);
  count_step(passage);
  if (observer_ != nullptr) observe_step(passage, share);
  if (tells_pieces_) tell_pieces(passage);
}

void Instance::observe_step(const Passage& passage, const DecodeShare& share) {
  observed_pieces_.clear();
  for (const PrefillPiece& piece : here().pieces)
    observed_pieces_.push_back(
        {.request = store_[piece.id].request,
         .chunk = piece.chunk,
         .alone = std::min(passage.gpu, gpu_time({.decode_sequences = 0,
                                                  .decode_context = 0,
                                                  .chunks = {&piece.chunk, 1},
                                                  .sampled = piece.last ? 1 : 0})),
         .last = piece.last,
         .repeated = piece.chunk.past_tokens < store_[piece.id].thrown_away,
         .in_vain = store_[piece.id].abandoned});
  const hw::StepShape decodes = decode_shape();
  observer_->step({.instance = index_,
                   .micro_batch = deciding_,
                   .begin = simulation_.now(),
                   .end = passage.end,
                   .host = passage.host,
                   .swapping = passage.swapping,
                   .gpu = passage.gpu,
                   .waiting = passage.waiting,
                   .decode = share.floor + share.stretched,
                   .decode_floor = share.floor,
                   .decode_sequences = decodes.decode_sequences,
                   .decode_context = decodes.decode_context,
                   .pieces = observed_pieces_,
                   .running = in_batches(),
                   .waiting_requests = queue_length(),
                   .blocked = blocked_,
                   .kv_used_blocks = pool_.used(),
                   .flops = passage.price.flops,
                   .hbm_bytes = passage.price.bytes});
}

Instance::Passage Instance::pass(const hw::StepShape& shape, const HostWork& work) {
  const std::size_t stages = cost_.stages();
  Passage passage;
  std::vector<Duration>& times = stage_times_;
  for (std::size_t i = 0; i < stages; ++i) {
    const hw::Price price = stage_price(i, shape);
    times[i] = to_duration(price.time);
    passage.gpu += times[i];
    passage.price += price;
  }
  if (stages > 1) passage.price *= 1.0 / static_cast<double>(stages);
  // In a pipeline each stage has a process that launches its own layers.
  HostWork before = work;
  before.prompts = work.prompts && stages == 1;
  passage.host = config_.host_time(before, passage.gpu);
  passage.swapping = swap_time();
  TimePoint ready = simulation_.now() + passage.host + passage.swapping;
  host_free_ = std::max(ready, simulation_.now() + config_.host_work(work));
  if (stages > 1)
    for (std::size_t i = 0; i < stages; ++i) {
      const Duration launch = config_.launch_time(work, layer_shares_[i]);
      passage.host += std::max(Duration{}, launch - times[i]);
      times[i] = std::max(times[i], launch);
    }
  for (std::size_t i = 0; i < stages; ++i) {
    const TimePoint start = std::max(ready, stage_free_[i]);
    passage.waiting += start - ready;
    ready = start + times[i];
    stage_free_[i] = ready;
  }
  passage.end = ready;
  return passage;
}

Duration Instance::decode_floor(std::int64_t context) {
  const std::int64_t tokens = tokens_per_decode();
  const hw::StepShape one{.decode_sequences = 1,
                          .decode_context = context,
                          .chunks = {},
                          .sampled = tokens,
                          .decode_queries = tokens};
  if (tokens > 1 || slowdown_ != 1.0 || prices_ != &cost_) return gpu_time(one);
  const auto i = static_cast<std::size_t>(context);
  if (i >= floors_.size()) floors_.resize(std::max(i + 1, 2 * floors_.size()), unknown);
  if (floors_[i] == unknown) floors_[i] = gpu_time(one);
  return floors_[i];
}

Instance::DecodeShare Instance::split_decode(Duration gpu) {
  if (!plan_.decode) return {.floor = {}, .stretched = {}, .stalled = gpu};
  const hw::StepShape decodes = decode_shape();
  // A kernel may run faster on more work (tile shapes); a part is never negative.
  const Duration alone = here().pieces.empty() ? gpu : std::min(gpu, gpu_time(decodes));
  const Duration floor =
      decodes.decode_sequences == 1
          ? alone
          : std::min(alone, decode_floor(decodes.decode_context / decodes.decode_sequences));
  return {.floor = floor, .stretched = alone - floor, .stalled = gpu - alone};
}

void Instance::charge_prefills(const Passage& passage) {
  const std::vector<PrefillPiece>& pieces = here().pieces;
  const bool shared = plan_.decode || pieces.size() > 1;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const PrefillPiece& piece = pieces[i];
    Sequence& sequence = store_[piece.id];
    tokenline::Parts& parts = record(sequence).parts;
    // While an earlier piece is still under way the time is that one's.
    Duration left = passage.end - std::max(sequence.accounted, simulation_.now());
    sequence.accounted = passage.end;
    const auto charge = [&](Part part, Duration time) {
      time = std::min(time, left);
      parts[part] += time;
      left -= time;
    };
    if (piece.chunk.past_tokens < sequence.thrown_away) {
      charge(Part::recomputed, passage.gpu);
    } else {
      const Duration own = shared ? std::min(passage.gpu, gpu_time({.decode_sequences = 0,
                                                                    .decode_context = 0,
                                                                    .chunks = {&chunks_[i], 1},
                                                                    .sampled = piece.last ? 1 : 0}))
                                  : passage.gpu;
      charge(Part::own_prefill, own);
      charge(Part::prefill_stretched, passage.gpu - own);
    }
    charge(Part::host_gap, passage.host);
    charge(Part::pipeline_wait, passage.waiting);
  }
}

void Instance::count_step(const Passage& passage) {
  std::int64_t new_tokens = 0;
  for (const hw::Chunk& chunk : chunks_) new_tokens += chunk.new_tokens;
  // Of the pipeline's time what no step before has taken.
  const Duration time = passage.end - std::max(boundary_, simulation_.now());
  boundary_ = passage.end;
  ++stats_.steps;
  stats_.busy += time;
  const Duration gpu = passage.gpu / static_cast<std::int64_t>(cost_.stages());
  stats_.gpu += gpu;
  stats_.flops += passage.price.flops;
  stats_.hbm_bytes += passage.price.bytes;
  stats_.price_error += passage.price.error;
  stats_.off_grid += passage.price.off_grid;
  stats_.prefilled_tokens += new_tokens;
  if (new_tokens > 0) prefill_time_ += passage.host + gpu;
  const double seconds = to_seconds(time).value();
  stats_.running_seconds += seconds * static_cast<double>(in_batches());
  stats_.waiting_seconds += seconds * static_cast<double>(queue_length() + swapped() + loading());
  stats_.kv_allocated_seconds += seconds * static_cast<double>(pool_.used() * limits_.block_size);
  std::int64_t stored = prefilling_stored_ + parked_stored_;
  // A block that several hold stores its tokens once.
  if (shared_) stored -= shared_->cache().extra_references() * limits_.block_size;
  for (const MicroBatch& batch : micro_batches_)
    stored += batch.decoding.stored() + batch.held_stored +
              (batch.end > simulation_.now() && batch.decodes ? batch.decoding.size() : 0);
  stats_.kv_stored_seconds += seconds * static_cast<double>(stored);
}

void Instance::settle_queue() {
  const TimePoint now = simulation_.now();
  if (observer_ != nullptr) observer_->decides(index_, now, blocked_);
  waited_[static_cast<std::size_t>(blocked_)] += now - decided_;
  for (auto i = static_cast<std::size_t>(known_); i < waiting_.size(); ++i) {
    Sequence& sequence = store_[waiting_[i]];
    record(sequence).parts[Part::wait_step] += now - std::max(decided_, sequence.since);
    sequence.snapshot = {};
    std::ranges::copy(waited_, sequence.snapshot.begin());
  }
  known_ = queue_length();
  decided_ = now;
}

void Instance::settle_pause() {
  // Ready since its last step ended, but the host was busy with another one.
  MicroBatch& batch = here();
  batch.decoded[pipeline_wait] += simulation_.now() - batch.end;
  batch.end = simulation_.now();
}

void Instance::settle_partial(Sequence& sequence) {
  const TimePoint now = simulation_.now();
  if (now <= sequence.accounted) return;
  record(sequence).parts[partial_starved_ ? Part::wait_token_budget : Part::pipeline_wait] +=
      now - sequence.accounted;
  sequence.accounted = now;
}

void Instance::end_waiting(Sequence& sequence) {
  static constexpr std::array parts{Part::wait_step, Part::wait_sequence_slot, Part::wait_kv_blocks,
                                    Part::wait_token_budget};
  for (std::size_t i = 1; i < parts.size(); ++i)
    record(sequence).parts[parts[i]] += waited_[i] - sequence.snapshot[i];
}

void Instance::begin_decoding(Sequence& sequence) {
  sequence.snapshot = micro_batches_[sequence.micro_batch].decoded;
  waiting_.decoding(sequence);
}

void Instance::end_decoding(Sequence& sequence) {
  static constexpr std::array parts{Part::host_gap,         Part::decode_floor,
                                    Part::decode_stretched, Part::decode_stalled,
                                    Part::pipeline_wait,    Part::transfer_wire};
  waiting_.not_decoding(sequence);
  const auto& decoded = micro_batches_[sequence.micro_batch].decoded;
  for (std::size_t i = 0; i < parts.size(); ++i)
    record(sequence).parts[parts[i]] += decoded[i] - sequence.snapshot[i];
}

}  // namespace tokenline
