// What steps of the slow engine take: time, memory, the way through the pipeline.
#include <algorithm>

#include "tests/support/slow_replica.hpp"

namespace tokenline::test {
namespace {

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
    all.context += sequence->stored + 1 + step.drafts;
  }
  for (const auto& sequence : step.held) {
    ++all.count;
    // Computed on as padding, but nothing is stored.
    all.context += sequence->stored + 1 + step.drafts;
  }
  return all;
}

}  // namespace

Duration SlowReplica::stage_price(std::size_t stage, const hw::StepShape& shape,
                                  const SlowStep& step) const {
  const hw::ReplicaCost* cost = world_.scenario.cost.get();
  if (!world_.scenario.price_changes.empty())
    for (const PriceChange& change : world_.scenario.price_changes[index_])
      if (change.when <= step.start) cost = change.cost.get();
  Seconds time = cost->stage(stage).price(shape).time;
  if (step.drafts > 0) time += speculator_->price(shape, step.drafts).time;  // not in a pipeline
  return to_duration(step.slowdown * time);
}

Duration SlowReplica::price(const hw::StepShape& shape, const SlowStep& step) const {
  Duration sum{};
  for (std::size_t i = 0; i < batches_.size(); ++i) sum += stage_price(i, shape, step);
  return sum;
}

hw::StepShape SlowReplica::decode_shape(const SlowStep& step) const {
  const DecodeRows all = rows(step);
  return {.decode_sequences = all.count,
          .decode_context = all.context,
          .chunks = {},
          .sampled = all.count * (1 + step.drafts),
          .decode_queries = 1 + step.drafts};
}

Duration SlowReplica::price_of_decodes(const SlowStep& step) const {
  return price(decode_shape(step), step);
}

Duration SlowReplica::price_of_mean_decode(const SlowStep& step) const {
  hw::StepShape mean = decode_shape(step);
  mean.decode_context /= mean.decode_sequences;
  mean.decode_sequences = 1;
  mean.sampled = mean.decode_queries;
  return price(mean, step);
}

bool SlowReplica::fits(const SlowStep& step) const {
  if (world_.scenario.engine.kv_sizing != KvSizing::on_demand) return true;
  std::int64_t tokens = rows(step).count * (1 + step.drafts);
  std::int64_t sampled = tokens;
  std::int64_t scores = 0;
  for (const auto& piece : step.pieces) {
    tokens += piece.tokens;
    if (piece.last) ++sampled;
    scores = std::max(scores, piece.tokens * (piece.past + piece.tokens));
  }
  for (std::size_t i = 0; i < batches_.size(); ++i) {
    const MemoryPlan& memory = world_.scenario.stage_memory[i];
    const Bytes activations = world_.scenario.cost->stage(i).activations(tokens, sampled, scores);
    if (memory.in_use(KvSizing::on_demand, pool_.used(), activations) > memory.capacity)
      return false;
  }
  return true;
}

/// When the step passes the host and each stage.
void SlowReplica::launch(SlowStep& step) {
  const EngineConfig& engine = world_.scenario.engine;
  const auto sequences =
      static_cast<double>(rows(step).count) + static_cast<double>(step.pieces.size());
  std::vector<hw::Chunk> chunks;
  hw::StepShape shape = decode_shape(step);
  std::int64_t tokens = shape.sampled;
  for (const auto& piece : step.pieces) {
    chunks.push_back(piece.chunk());
    tokens += piece.tokens;
    if (piece.last) ++shape.sampled;
  }
  shape.chunks = chunks;
  step.start = world_.events.now();
  for (const Fault& fault : world_.scenario.faults)
    if (fault.kind == FaultKind::straggler && fault.replica == index_ && step.start >= fault.at &&
        step.start < fault.to)
      step.slowdown *= fault.slowdown;
  world_.run.counts.slow_steps += step.slowdown > 1.0 ? 1 : 0;
  world_.run.counts.brownout_steps += brownouts(world_.scenario.faults, step.start).empty() ? 0 : 1;
  step.gpu = price(shape, step);
  const Duration work =
      to_duration(engine.host_overhead_per_step + sequences * engine.host_overhead_per_sequence);
  const bool launched = !step.pieces.empty() && tokens > engine.cuda_graph_max_tokens;
  // With several stages each launches its own layers, below.
  const bool alone = batches_.size() == 1;
  const Duration launch = launched && alone ? to_duration(engine.prompt_launch) : Duration{};
  const auto beyond = [&](Duration time) { return time > step.gpu ? time - step.gpu : Duration{}; };
  if (engine.host_overlap == HostOverlap::none)
    step.host = work + beyond(launch);
  else
    step.host = to_duration(engine.host_gap + sequences * engine.host_gap_per_sequence) +
                beyond(work + launch);
  const Duration admitting =
      to_duration(static_cast<double>(step.newcomers) * engine.host_overhead_per_request);
  step.host += admitting;
  const HostPlan& host = world_.scenario.host;
  if (step.copied_out > 0) step.copying += to_duration(host.swap_out.time(step.copied_out));
  if (step.copied_in > 0) step.copying += to_duration(host.swap_in.time(step.copied_in));
  TimePoint there = step.start + step.host + step.copying;
  host_free_ = std::max(there, step.start + work + admitting);
  const models::Architecture& model = world_.scenario.cost->setup().model;
  const auto layers =
      models::stage_layers(model.layers, static_cast<std::int64_t>(batches_.size()));
  for (std::size_t i = 0; i < batches_.size(); ++i) {
    if (stage_free_[i] > there) {
      step.waiting += stage_free_[i] - there;
      there = stage_free_[i];
    }
    Duration time = alone ? step.gpu : stage_price(i, shape, step);
    if (launched && !alone) {
      const double share = static_cast<double>(layers[i]) / static_cast<double>(model.layers);
      const Duration own = to_duration(share * engine.prompt_launch);
      if (own > time) step.host += own - time;
      time = std::max(time, own);
    }
    there += time;
    stage_free_[i] = there;
  }
  step.end = there;
  for (const auto& piece : step.pieces) prefilled_ += piece.tokens;
  if (!step.pieces.empty())
    prefilling_ += step.host + step.gpu / static_cast<std::int64_t>(batches_.size());
  SlowCounts& counts = world_.run.counts;
  ++counts.steps;
  counts.overlapping += in_pipeline_.empty() ? 0 : 1;
  counts.gpu_bound += engine.host_overlap == HostOverlap::async && work < step.gpu ? 1 : 0;
  if (!step.decodes.empty()) counts.held_rows += static_cast<std::int64_t>(step.held.size());
  for (const auto& piece : step.pieces) {
    counts.partial_pieces += piece.last ? 0 : 1;
    counts.chained_pieces += piece.past > piece.sequence->stored ? 1 : 0;
  }
}

}  // namespace tokenline::test
