#include "tests/support/slow_replica.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"
#include "sim/engine/shared_prefixes.hpp"

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

}  // namespace

SlowReplica::SlowReplica(World& world, std::uint32_t index)
    : world_(world),
      index_(index),
      limits_(limits_of(world.scenario)),
      pool_(world.scenario.memory.blocks, limits_.block_size),
      batches_(world.scenario.cost->stages()),
      stage_free_(world.scenario.cost->stages()) {
  for (std::size_t i = 0; i < batches_.size(); ++i) ready_.push_back(i);
  if (!world.scenario.host.tiers.empty()) tiers_.emplace(world.scenario.host.tiers);
  if (!world.scenario.speculation) return;
  speculator_.emplace(*world.scenario.speculation, world.scenario.seed);
  ahead_ = world.scenario.speculation->tokens;
}

std::int64_t SlowReplica::outstanding() const {
  auto all = static_cast<std::int64_t>(waiting_.size() + swapped_.size() + loading_.size());
  for (const SlowBatch& batch : batches_)
    all += std::ranges::count_if(batch.running, [](const auto& s) { return !s->finished(); });
  return all;
}

ReplicaView SlowReplica::view() const {
  ReplicaView view{
      .index = index_,
      .outstanding = outstanding(),
      .waiting = static_cast<std::int64_t>(waiting_.size() + swapped_.size() + loading_.size()),
      .used_blocks = pool_.used(),
      .block_size = limits_.block_size,
      .prefilled_tokens = prefilled_,
      .prefill_time = prefilling_};
  for (const auto& sequence : waiting_) view.queued_tokens += sequence->prefill;
  for (const auto& sequence : loading_) view.queued_tokens += sequence->prefill;
  for (const SlowBatch& batch : batches_)
    for (const auto& sequence : batch.running)
      view.queued_tokens += sequence->prefill - sequence->scheduled;
  return view;
}

bool SlowReplica::nothing_runs() const {
  return std::ranges::all_of(batches_, [](const SlowBatch& batch) {
    return std::ranges::all_of(batch.running, [](const auto& s) { return s->finished(); });
  });
}

SlowSequencePtr SlowReplica::enqueue(std::uint32_t request) {
  RequestRecord& record = world_.run.records[request];
  record.instance = index_;
  auto sequence = std::make_shared<SlowSequence>();
  sequence->request = request;
  sequence->prompt = record.prompt_tokens;
  sequence->output = record.output_tokens;
  sequence->prefill = record.prompt_tokens;
  sequence->joined = world_.events.now();
  sequence->came = arrivals_++;
  waiting_.push_back(sequence);
  if (world_.scenario.engine.enable_prefix_caching)
    pool_.write(sequence->came, text_of(request, sequence->came));
  // A busy host sees it when a step ends.
  if (!up_ || decide_at_ || !in_pipeline_.empty()) return sequence;
  decide_at_ = world_.events.now();
  expect();
  return sequence;
}

/// Prompt and answer of a request as they are when the answer has been delivered: the texts that it
/// shares, then one of its own. Where requests share nothing, what an attempt stores is its own.
SlowText SlowReplica::delivered_text_of(std::uint32_t request, std::int64_t attempt) const {
  const RequestRecord& record = world_.run.records[request];
  const auto tokens = static_cast<std::size_t>(record.prompt_tokens + record.output_tokens);
  SlowText text;
  for (const traffic::ContentRun& run :
       world_.scenario.traffic.sources[record.source]->content(record.session))
    for (std::int64_t i = 0; i < run.tokens && text.size() < tokens; ++i)
      text.emplace_back(run.id, i);
  const std::uint64_t own = begin_alike(world_.scenario.traffic)
                                ? (std::uint64_t{1} << 40U) | request
                                : static_cast<std::uint64_t>(attempt);
  for (std::int64_t i = 0; text.size() < tokens; ++i) text.emplace_back(own, i);
  return text;
}

/// Until then the answer is that attempt's own.
SlowText SlowReplica::text_of(std::uint32_t request, std::int64_t attempt) const {
  SlowText text = delivered_text_of(request, attempt);
  for (auto i = static_cast<std::size_t>(world_.run.records[request].prompt_tokens);
       i < text.size(); ++i)
    text[i] = {static_cast<std::uint64_t>(attempt), i};
  return text;
}

std::int64_t SlowReplica::cached_tokens(std::uint32_t request) const {
  if (!world_.scenario.engine.enable_prefix_caching) return 0;
  const std::int64_t prompt = world_.run.records[request].prompt_tokens;
  return static_cast<std::int64_t>(pool_.find(text_of(request, arrivals_), prompt).size()) *
         limits_.block_size;
}

/// What happens next here: the first step in the pipeline ends, or the host decides.
void SlowReplica::expect() {
  if (!decide_at_ && in_pipeline_.empty()) return;
  const bool ends = !in_pipeline_.empty() &&
                    (!decide_at_ || batches_[in_pipeline_.front()].step->end <= *decide_at_);
  if (ends)
    world_.events.at(batches_[in_pipeline_.front()].step->end, Phase::completion,
                     [this, life = life_] {
                       if (life != life_) return;
                       finish();
                       expect();
                     });
  else
    world_.events.at(*decide_at_, Phase::decision, [this, life = life_] {
      if (life != life_) return;
      decide();
      expect();
    });
}

void SlowReplica::decide() {
  decide_at_.reset();
  let_go_of_aborted();
  while (!ready_.empty() && start_one())
    if (host_free_ > world_.events.now()) {
      if (!ready_.empty()) decide_at_ = host_free_;
      return;
    }
  const bool idle = nothing_runs() && waiting_.empty() && swapped_.empty();
  TOKENLINE_CHECK(!up_ || !in_pipeline_.empty() || !loading_.empty() || idle,
                  "the slow replica {} is stuck", index_);
}

/// Starts a step of the first batch that has one to do. Under shared slots those that run something
/// come first.
bool SlowReplica::start_one() {
  std::vector<std::size_t> order;
  if (world_.scenario.engine.pipeline_slots == PipelineSlots::shared) {
    for (const std::size_t i : ready_)
      if (!batches_[i].running.empty()) order.push_back(i);
    for (const std::size_t i : ready_)
      if (batches_[i].running.empty()) order.push_back(i);
    ready_ = order;
  }
  order = ready_;
  bool empty_one_has_none = false;
  for (const std::size_t i : order) {
    if (batches_[i].running.empty() && empty_one_has_none) continue;
    if (batches_[i].running.empty()) empty_one_has_none = true;
    here_ = i;
    if (start(batches_[i])) return true;
    if (!up_) return false;
  }
  return false;
}

bool SlowReplica::start(SlowBatch& batch) {
  charge_waiting();
  charge_pause();
  look_at_loaded();
  look();
  sort_queue();
  for (;;) {
    SlowStep step = schedule();
    if (step.decodes.empty() && step.pieces.empty()) {
      drop_finished(batch);
      if (step.preemptions > 0 || step.loads > 0) continue;
      blocked_ = step.blocked;
      for (const auto& sequence : waiting_) sequence->early = true;
      return false;
    }
    if (!fits(step)) {
      crash(world_.scenario.cluster.restart_delay, Outcome::lost_oom);
      return false;
    }
    blocked_ = step.blocked;
    for (const auto& sequence : waiting_) sequence->early = true;
    launch(step);
    batch.step = std::move(step);
    std::erase(ready_, here_);
    in_pipeline_.push_back(here_);
    return true;
  }
}

/// Which requests of the queue the coming decision knows of.
void SlowReplica::look() {
  const bool ahead = world_.scenario.engine.schedule_ahead && batches_.size() == 1;
  for (const auto& sequence : waiting_)
    if (!ahead || sequence->early) see(*sequence);
  if (nothing_runs() && std::ranges::none_of(waiting_, [](const auto& s) { return s->seen; }))
    for (const auto& sequence : waiting_) see(*sequence);
  world_.run.counts.unseen +=
      std::ranges::count_if(waiting_, [](const auto& s) { return !s->seen; });
}

void SlowReplica::finish() {
  SlowBatch& batch = batches_[in_pipeline_.front()];
  charge_pieces(*batch.step);
  charge_decodes(batch);
  store_and_emit(*batch.step);
  drop_finished(batch);
  batch.step.reset();
  batch.ended = world_.events.now();
  ready_.push_back(in_pipeline_.front());
  in_pipeline_.erase(in_pipeline_.begin());
  if (!decide_at_) decide_at_ = std::max(world_.events.now(), host_free_);
}

/// Stores the step's tokens; those who have no prompt left to store emit one, in order of
/// admission.
void SlowReplica::store_and_emit(const SlowStep& step) {
  for (const auto& sequence : step.decodes) ++sequence->stored;
  for (const auto& piece : step.pieces) piece.sequence->stored += piece.tokens;
  for (const auto& sequence : step.decodes) {
    const std::int64_t left = sequence->output - sequence->emitted;
    emit(*sequence);
    if (step.drafts == 0 && sequence->finished()) keep(*sequence);
    if (step.drafts == 0) continue;
    std::int64_t accepted =
        speculator_->verify(sequence->request, world_.run.records[sequence->request].class_index,
                            sequence->output - left);
    world_.run.counts.rejections += accepted < step.drafts ? 1 : 0;
    accepted = std::min(accepted, left - 1);
    for (std::int64_t i = 0; i < accepted; ++i) emit(*sequence);
    sequence->stored += accepted;
    pool_.truncate(sequence->came, sequence->stored);
    if (sequence->finished()) keep(*sequence);
  }
  if (step.drafts > 0 && !step.decodes.empty()) speculator_->step_ended(world_.events.now());
  for (const auto& piece : step.pieces) {
    if (!piece.last) continue;
    keep(*piece.sequence);
    emit(*piece.sequence);
    if (piece.sequence->finished()) keep(*piece.sequence);
  }
}

void SlowReplica::emit(SlowSequence& sequence) {
  const TimePoint now = world_.events.now();
  RequestRecord& record = world_.run.records[sequence.request];
  service_[record.class_index] += 2;
  ++sequence.emitted;
  if (sequence.abandoned) {
    if (sequence.finished()) ++world_.run.counts.in_vain;
    return;
  }
  if (sequence.emitted == 1) {
    record.first_token = now;
    record.ttft_parts = TtftParts(record.parts);
  } else if (record.measured) {
    world_.run.token_gaps[record.class_index].push_back(now - *sequence.last_token);
  }
  sequence.last_token = now;
  if (!sequence.finished()) return;
  record.finish = now;
  record.outcome = Outcome::completed;
  if (world_.scenario.engine.enable_prefix_caching)
    pool_.rewrite(sequence.came, delivered_text_of(sequence.request, sequence.came));
  world_.completed(sequence.request);
}

/// Finished sequences leave; under static, all together when the whole batch has finished.
void SlowReplica::drop_finished(SlowBatch& batch) {
  const auto finished = [](const SlowSequencePtr& s) { return s->finished(); };
  if (world_.scenario.engine.scheduler == "static" && !std::ranges::all_of(batch.running, finished))
    return;
  for (const auto& sequence : batch.running)
    if (sequence->finished()) pool_.release(sequence->came);
  std::erase_if(batch.running, finished);
}

void SlowReplica::crash(Duration restart_after, Outcome loss) {
  ++life_;
  decide_at_.reset();
  ++world_.run.counts.crashes;
  std::vector<SlowSequencePtr> lost;
  for (SlowBatch& batch : batches_) {
    lost.insert(lost.end(), batch.running.begin(), batch.running.end());
    batch = {.running = {}, .step = {}, .ended = world_.events.now()};
  }
  std::ranges::sort(lost, {}, [](const auto& sequence) { return sequence->order; });
  lost.insert(lost.end(), swapped_.begin(), swapped_.end());
  lost.insert(lost.end(), loading_.begin(), loading_.end());
  world_.run.counts.lost_loads += std::ssize(loading_);
  loading_.clear();
  if (tiers_) tiers_->clear(world_.events.now());
  lost.insert(lost.end(), waiting_.begin(), waiting_.end());
  world_.run.counts.lost_swapped += std::ssize(swapped_);
  swapped_.clear();
  host_used_ = 0;
  waiting_.clear();
  service_.clear();
  last_left_.reset();
  ready_.insert(ready_.end(), in_pipeline_.begin(), in_pipeline_.end());
  in_pipeline_.clear();
  std::ranges::fill(stage_free_, world_.events.now());
  host_free_ = world_.events.now();
  pool_ = SlowPool(world_.scenario.memory.blocks, limits_.block_size);
  up_ = false;
  world_.events.at(world_.events.now() + restart_after, Phase::completion, [this, life = life_] {
    if (life == life_) restart();
  });
  for (const auto& sequence : lost)
    if (!sequence->finished() && !sequence->abandoned) world_.crashed(sequence->request, loss);
}

void SlowReplica::restart() {
  up_ = true;
  decided_ = world_.events.now();
  for (const auto& sequence : waiting_)
    charge(*sequence, Part::restart, world_.events.now() - sequence->joined);
  if (waiting_.empty()) return;
  decide_at_ = world_.events.now();
  expect();
}

}  // namespace tokenline::test
