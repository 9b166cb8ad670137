#include "sim/engine/transfers.hpp"

#include <algorithm>

#include "sim/base/integer.hpp"
#include "sim/engine/resharding.hpp"

namespace tokenline {
namespace {

/// Bytes of one head (of MLA's latent) of one token in one layer.
std::int64_t head_bytes(const hw::StepSetup& setup) {
  return setup.model.cached_head_values() * setup.kv_element;
}

}  // namespace

Transfers::Transfers(Simulation& simulation, RequestLog& log, const hw::Network& network,
                     const Disaggregation& how, std::vector<TransferEnd> ends)
    : simulation_(simulation),
      log_(log),
      network_(network),
      how_(how),
      ends_(std::move(ends)),
      flows_(simulation, network,
             [this](std::uint32_t request, std::int64_t bytes) { flow_ended(request, bytes); }) {}

void Transfers::begin(std::uint32_t request, std::uint32_t from, std::uint32_t to) {
  ++counts_.begun;
  Job& job = jobs_[request];
  job = {.from = from, .to = to};
  job.there = ends_[to].instance->expect(request);
}

void Transfers::computing(const ComputedPiece& piece) {
  Job& job = jobs_.at(piece.request);
  job.piece = piece;
  if (!job.reserved) return;
  flows_.lift(piece.request);
  send_piece(job);
}

void Transfers::prefilled(std::uint32_t request, SequenceId sequence) {
  Job& job = jobs_.at(request);
  job.here = sequence;
  job.prefilled = simulation_.now();
  flows_.lift(request);
  if (job.reserved) send_stored(request, job, log_.records[request].prompt_tokens);
  land_if_complete(request);
}

void Transfers::reserved(std::uint32_t request, std::int64_t found) {
  Job& job = jobs_.at(request);
  job.found = found;
  job.sent = found;
  job.reserved = simulation_.now();
  if (job.prefilled) send_stored(request, job, log_.records[request].prompt_tokens);
  if (!job.prefilled && job.piece.end > *job.reserved) send_piece(job);
}

const std::vector<Transfers::Lane>& Transfers::lanes(std::uint32_t from, std::uint32_t to) {
  std::vector<Lane>& lanes = lanes_[{from, to}];
  if (!lanes.empty()) return lanes;
  const models::Architecture& model = ends_[from].pool->cost->setup().model;
  for (const KvSlice& slice : reshard(model.cached_heads(), ends_[from].pool->parallelism.tensor,
                                      ends_[to].pool->parallelism.tensor))
    lanes.push_back(
        {.path = network_.route((*ends_[from].gpus)[static_cast<std::size_t>(slice.from)],
                                (*ends_[to].gpus)[static_cast<std::size_t>(slice.to)]),
         .heads = slice.heads});
  return lanes;
}

/// All layers of the tokens before `end` that have not been sent.
void Transfers::send_stored(std::uint32_t request, Job& job, std::int64_t end) {
  const std::int64_t tokens = end - job.sent;
  if (tokens <= 0) return;
  job.sent = end;
  send(request, job,
       {.tokens = tokens, .layers = ends_[job.from].pool->cost->setup().model.layers});
}

/// What the steps before have stored, and the piece under way: its layers leave as they come.
void Transfers::send_piece(Job& job) {
  const ComputedPiece& piece = job.piece;
  // Of a prompt that was preempted the receiver may have more than the sender.
  send_stored(piece.request, job, piece.first);
  const std::int64_t tokens = piece.last - job.sent;
  if (tokens <= 0) return;
  job.sent = piece.last;
  const std::int64_t layers = ends_[job.from].pool->cost->setup().model.layers;
  const Duration whole = piece.end - piece.begin;
  const Duration past = std::max(Duration{}, simulation_.now() - piece.begin);
  const std::int64_t computed = past.count() * layers / whole.count();
  if (computed > 0) send(piece.request, job, {.tokens = tokens, .layers = computed});
  send(piece.request, job,
       {.tokens = tokens,
        .layers = layers - computed,
        .of_layer = to_seconds(whole) / real(layers),
        .after = piece.begin + (computed + 1) * whole / layers - simulation_.now()});
}

void Transfers::send(std::uint32_t request, Job& job, const Parcel& parcel) {
  const hw::StepSetup& setup = ends_[job.from].pool->cost->setup();
  const std::int64_t block = std::min(ends_[job.from].pool->engine.pool_block_size(),
                                      ends_[job.to].pool->engine.pool_block_size());
  // K and V of a block and layer are apart, MLA's latent is one.
  const std::int64_t pieces = ceil_div(parcel.tokens, block) * (setup.model.mla ? 1 : 2);
  for (const Lane& lane : lanes(job.from, job.to)) {
    const std::int64_t layer = parcel.tokens * lane.heads * head_bytes(setup);
    Flows::Flow flow{.request = request,
                     .path = &lane.path,
                     .bytes = layer * parcel.layers,
                     .messages = pieces * parcel.layers,
                     .produced = {},
                     .after = parcel.after};
    if (parcel.of_layer) {
      // The pieces of later layers are prepared while the first ones are on their way.
      flow.messages = pieces;
      flow.produced = Bytes(real(layer)) / *parcel.of_layer;
    }
    ++job.flows;
    flows_.begin(flow);
  }
}

void Transfers::flow_ended(std::uint32_t request, std::int64_t bytes) {
  Job& job = jobs_.at(request);
  job.arrived += bytes;
  --job.flows;
  land_if_complete(request);
}

void Transfers::land_if_complete(std::uint32_t request) {
  const auto found = jobs_.find(request);
  const Job job = found->second;
  RequestRecord& record = log_.records[request];
  if (!job.prefilled || job.flows > 0 || job.sent < record.prompt_tokens) return;
  jobs_.erase(found);
  const TimePoint begun = std::max(*job.prefilled, *job.reserved);
  record.parts[Part::transfer_queue] += begun - *job.prefilled;
  record.parts[Part::transfer_wire] += simulation_.now() - begun;
  if (!how_.first_token_from_prefill) {
    record.first_token = simulation_.now();
    record.ttft_parts = TtftParts(record.parts);
  }
  ++counts_.landed;
  const Pool& receiver = *ends_[job.to].pool;
  const double kept = receiver.cost->stage(0).kv_per_token().value();
  counts_.received_bytes += static_cast<std::int64_t>(kept) * receiver.parallelism.tensor *
                            (record.prompt_tokens - job.found);
  ends_[job.from].instance->forget(job.here, false);
  ends_[job.to].instance->land(job.there);
}

bool Transfers::cancel(std::uint32_t request) {
  const auto found = jobs_.find(request);
  const Job job = found->second;
  jobs_.erase(found);
  ++counts_.cancelled;
  counts_.delivered_of_cancelled += job.arrived;
  flows_.cancel(request);
  // The instance that has crashed has thrown away its own.
  std::uint32_t& crashed = log_.records[request].instance;
  if (crashed == job.from) {
    ends_[job.to].instance->forget(job.there, false);
    return false;
  }
  if (job.prefilled) ends_[job.from].instance->forget(job.here, true);
  crashed = job.from;
  return !job.prefilled;
}

void Transfers::set_brownouts(std::span<const hw::Brownout> brownouts) {
  flows_.set_capacities(hw::capacities(network_.topology(), brownouts));
}

TransferCounts Transfers::counts() const {
  TransferCounts counts = counts_;
  counts.left = std::ssize(jobs_);
  counts.flows = flows_.counts();
  return counts;
}

}  // namespace tokenline
