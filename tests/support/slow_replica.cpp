#include "tests/support/slow_replica.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"

namespace tokenline::test {
namespace {

SchedulerLimits limits_of(const Scenario& scenario) {
  const EngineConfig& engine = scenario.engine;
  SchedulerLimits limits;
  const std::int64_t groups = scenario.cluster.parallelism.data;
  limits.max_num_seqs = groups * engine.max_num_seqs;
  limits.max_num_batched_tokens = groups * engine.max_num_batched_tokens;
  limits.block_size = engine.pool_block_size();
  limits.watermark_blocks = static_cast<std::int64_t>(
      std::ceil(engine.watermark * static_cast<double>(scenario.memory.blocks)));
  return limits;
}

Part part_of(Blocked blocked) {
  switch (blocked) {
    case Blocked::sequence_slot:
      return Part::wait_sequence_slot;
    case Blocked::kv_blocks:
      return Part::wait_kv_blocks;
    case Blocked::token_budget:
      return Part::wait_token_budget;
    case Blocked::nothing:
      break;
  }
  TOKENLINE_CHECK(false, "a request waits for nothing");
}

/// Rows of the decode part of a step and the tokens that they read.
struct DecodeRows {
  std::int64_t count = 0;
  std::int64_t context = 0;
};

DecodeRows rows(const SlowStep& step) {
  DecodeRows all;
  if (step.decodes.empty()) return all;
  for (const auto& sequence : step.decodes) {
    ++all.count;
    all.context += sequence->stored + 1;
  }
  for (const auto& sequence : step.held) {
    ++all.count;
    all.context += sequence->stored + 1;  // Computed on as padding, but nothing is stored.
  }
  return all;
}

}  // namespace

SlowReplica::SlowReplica(World& world, std::uint32_t index)
    : world_(world),
      index_(index),
      limits_(limits_of(world.scenario)),
      pool_(world.scenario.memory.blocks, limits_.block_size) {}

std::int64_t SlowReplica::outstanding() const {
  return static_cast<std::int64_t>(waiting_.size()) +
         std::ranges::count_if(running_, [](const auto& s) { return !s->finished(); });
}

void SlowReplica::enqueue(std::uint32_t request) {
  RequestRecord& record = world_.run.records[request];
  record.instance = index_;
  auto sequence = std::make_shared<SlowSequence>();
  sequence->request = request;
  sequence->prompt = record.prompt_tokens;
  sequence->output = record.output_tokens;
  sequence->prefill = record.prompt_tokens;
  sequence->joined = world_.events.now();
  waiting_.push_back(std::move(sequence));
  if (up_ && !step_) wake();
}

void SlowReplica::wake() {
  if (deciding_) return;
  deciding_ = true;
  world_.events.at(world_.events.now(), Phase::decision, [this] { decide(); });
}

void SlowReplica::decide() {
  deciding_ = false;
  look();
  for (;;) {
    SlowStep step = schedule();
    if (!step.decodes.empty() || !step.pieces.empty()) {
      if (fits(step))
        start(std::move(step));
      else
        crash();
      return;
    }
    drop_finished();
    if (step.preemptions == 0) break;
  }
  TOKENLINE_CHECK(running_.empty() && waiting_.empty(), "the slow replica {} is stuck", index_);
}

/// Which requests of the queue the coming decision knows of.
void SlowReplica::look() {
  const bool ahead = world_.scenario.engine.schedule_ahead;
  for (const auto& sequence : waiting_)
    if (!ahead || sequence->early) sequence->seen = true;
  const bool idle = std::ranges::all_of(running_, [](const auto& s) { return s->finished(); });
  if (idle && std::ranges::none_of(waiting_, [](const auto& s) { return s->seen; }))
    for (const auto& sequence : waiting_) sequence->seen = true;
  world_.run.counts.unseen +=
      std::ranges::count_if(waiting_, [](const auto& s) { return !s->seen; });
}

hw::Price SlowReplica::price(const SlowStep& step) const {
  std::vector<hw::Chunk> chunks;
  std::int64_t sampled = rows(step).count;
  for (const auto& piece : step.pieces) {
    chunks.push_back(piece.chunk());
    if (piece.last()) ++sampled;
  }
  return world_.scenario.cost->price({.decode_sequences = rows(step).count,
                                      .decode_context = rows(step).context,
                                      .chunks = chunks,
                                      .sampled = sampled});
}

Duration SlowReplica::price_of_decodes(const SlowStep& step) const {
  const DecodeRows all = rows(step);
  return to_duration(world_.scenario.cost
                         ->price({.decode_sequences = all.count,
                                  .decode_context = all.context,
                                  .chunks = {},
                                  .sampled = all.count})
                         .time);
}

Duration SlowReplica::price_of_mean_decode(const SlowStep& step) const {
  const DecodeRows all = rows(step);
  return to_duration(world_.scenario.cost
                         ->price({.decode_sequences = 1,
                                  .decode_context = all.context / all.count,
                                  .chunks = {},
                                  .sampled = 1})
                         .time);
}

bool SlowReplica::fits(const SlowStep& step) const {
  const MemoryPlan& memory = world_.scenario.memory;
  if (world_.scenario.engine.kv_sizing != KvSizing::on_demand) return true;
  std::int64_t tokens = rows(step).count;
  std::int64_t sampled = rows(step).count;
  std::int64_t scores = 0;
  for (const auto& piece : step.pieces) {
    tokens += piece.tokens;
    if (piece.last()) ++sampled;
    scores = std::max(scores, piece.tokens * (piece.sequence->stored + piece.tokens));
  }
  const Bytes activations = world_.scenario.cost->activations(tokens, sampled, scores);
  return memory.in_use(KvSizing::on_demand, pool_.used(), activations) <= memory.capacity;
}

void SlowReplica::start(SlowStep step) {
  const EngineConfig& engine = world_.scenario.engine;
  const auto sequences =
      static_cast<double>(rows(step).count) + static_cast<double>(step.pieces.size());
  step.start = world_.events.now();
  for (const auto& sequence : waiting_) sequence->early = true;
  const Duration work =
      to_duration(engine.host_overhead_per_step + sequences * engine.host_overhead_per_sequence);
  step.gpu = to_duration(price(step).time);
  std::int64_t tokens = rows(step).count;
  for (const auto& piece : step.pieces) tokens += piece.tokens;
  const bool launched = !step.pieces.empty() && tokens > engine.cuda_graph_max_tokens;
  const Duration launch = launched ? to_duration(engine.prompt_launch) : Duration{};
  const auto beyond = [&](Duration time) { return time > step.gpu ? time - step.gpu : Duration{}; };
  if (engine.host_overlap == HostOverlap::none)
    step.host = work + beyond(launch);
  else
    step.host = to_duration(engine.host_gap + sequences * engine.host_gap_per_sequence) +
                beyond(work + launch);
  step.host += to_duration(static_cast<double>(step.newcomers) * engine.host_overhead_per_request);
  SlowCounts& counts = world_.run.counts;
  ++counts.steps;
  counts.gpu_bound += engine.host_overlap == HostOverlap::async && work < step.gpu ? 1 : 0;
  if (!step.decodes.empty()) counts.held_rows += static_cast<std::int64_t>(step.held.size());
  counts.partial_pieces +=
      std::ranges::count_if(step.pieces, [](const auto& piece) { return !piece.last(); });
  world_.events.at(step.start + step.host + step.gpu, Phase::completion, [this] { finish(); });
  step_ = std::move(step);
}

void SlowReplica::finish() {
  charge_waiting();
  charge_pieces();
  charge_decodes();
  store_and_emit();
  drop_finished();
  step_.reset();
  if (!running_.empty() || !waiting_.empty()) wake();
}

void SlowReplica::charge(const SlowSequence& sequence, Part part, Duration time) {
  world_.run.records[sequence.request].parts[part] += time;
}

void SlowReplica::charge_waiting() {
  const TimePoint now = world_.events.now();
  for (const auto& sequence : waiting_) {
    if (!sequence->seen)
      charge(*sequence, Part::wait_step, now - std::max(sequence->joined, step_->start));
    else if (sequence->preempted)
      charge(*sequence, Part::preempted, now - step_->start);
    else
      charge(*sequence, part_of(step_->blocked), now - step_->start);
  }
}

void SlowReplica::charge_pieces() {
  for (const auto& piece : step_->pieces) {
    const hw::Chunk chunk = piece.chunk();
    const Duration alone = to_duration(
        world_.scenario.cost->price({.chunks = {&chunk, 1}, .sampled = piece.last() ? 1 : 0}).time);
    const Duration own = std::min(alone, step_->gpu);
    const SlowSequence& sequence = *piece.sequence;
    const bool repeats = sequence.stored < sequence.thrown_away;
    charge(sequence, Part::host_gap, step_->host);
    charge(sequence, repeats ? Part::recomputed : Part::own_prefill, own);
    charge(sequence, repeats ? Part::recomputed : Part::prefill_stretched, step_->gpu - own);
  }
  const auto computed = [this](const SlowSequencePtr& sequence) {
    return std::ranges::any_of(step_->pieces,
                               [&](const auto& piece) { return piece.sequence == sequence; });
  };
  for (const auto& sequence : running_)
    if (sequence->prefilling() && !computed(sequence))
      charge(*sequence, Part::wait_token_budget, step_->host + step_->gpu);
}

void SlowReplica::charge_decodes() {
  if (step_->decodes.empty()) {
    for (const auto& sequence : running_)
      if (!sequence->prefilling() && !sequence->finished()) {
        charge(*sequence, Part::host_gap, step_->host);
        charge(*sequence, Part::decode_stalled, step_->gpu);
      }
    return;
  }
  // Less work is not always faster: a part is at most what it is a part of.
  const Duration all = std::min(price_of_decodes(*step_), step_->gpu);
  const Duration floor = std::min(price_of_mean_decode(*step_), all);
  for (const auto& sequence : step_->decodes) {
    charge(*sequence, Part::host_gap, step_->host);
    charge(*sequence, Part::decode_floor, floor);
    charge(*sequence, Part::decode_stretched, all - floor);
    charge(*sequence, Part::decode_stalled, step_->gpu - all);
  }
}

/// Stores the step's tokens; those who have no prompt left to store emit one, in order of
/// admission.
void SlowReplica::store_and_emit() {
  for (const auto& sequence : step_->decodes) ++sequence->stored;
  for (const auto& piece : step_->pieces) piece.sequence->stored += piece.tokens;
  for (const auto& sequence : step_->decodes) emit(*sequence);
  for (const auto& piece : step_->pieces)
    if (!piece.sequence->prefilling()) emit(*piece.sequence);
}

void SlowReplica::emit(SlowSequence& sequence) {
  const TimePoint now = world_.events.now();
  RequestRecord& record = world_.run.records[sequence.request];
  if (++sequence.emitted == 1) {
    record.first_token = now;
    record.ttft_parts = TtftParts(record.parts);
  } else if (record.measured) {
    world_.run.token_gaps[record.class_index].push_back(now - *sequence.last_token);
  }
  sequence.last_token = now;
  if (!sequence.finished()) return;
  record.finish = now;
  record.outcome = Outcome::completed;
  world_.completed(sequence.request);
}

/// Finished sequences leave; under static, all together when the whole batch has finished.
void SlowReplica::drop_finished() {
  const auto finished = [](const SlowSequencePtr& s) { return s->finished(); };
  if (world_.scenario.engine.scheduler == "static" && !std::ranges::all_of(running_, finished))
    return;
  for (const auto& sequence : running_)
    if (sequence->finished()) pool_.release(sequence->request);
  std::erase_if(running_, finished);
}

void SlowReplica::crash() {
  ++world_.run.counts.crashes;
  std::vector<SlowSequencePtr> lost = running_;
  lost.insert(lost.end(), waiting_.begin(), waiting_.end());
  running_.clear();
  waiting_.clear();
  pool_ = reference::PagedPool(world_.scenario.memory.blocks, limits_.block_size);
  up_ = false;
  world_.events.at(world_.events.now() + world_.scenario.cluster.restart_delay, Phase::completion,
                   [this] { restart(); });
  for (const auto& sequence : lost)
    if (!sequence->finished()) world_.crashed(sequence->request);
}

void SlowReplica::restart() {
  up_ = true;
  for (const auto& sequence : waiting_) {
    charge(*sequence, Part::restart, world_.events.now() - sequence->joined);
    sequence->joined = world_.events.now();
  }
  if (!waiting_.empty()) wake();
}

}  // namespace tokenline::test
