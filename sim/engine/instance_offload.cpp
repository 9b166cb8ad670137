// KV that is kept behind the pool: what goes there, and requests that load it again.
#include <algorithm>

#include "sim/engine/instance.hpp"

namespace tokenline {

/// The whole blocks of a sequence that has `stored` tokens are written to the first tier.
void Instance::offload(SequenceId id, std::int64_t stored) {
  if (tiers_) tiers_->store(shared_->hashes(id, 0, stored / limits_.block_size), simulation_.now());
}

std::int64_t Instance::waiting_external_tokens(std::int64_t i) const {
  if (!tiers_) return 0;
  const SequenceId id = waiting_[static_cast<std::size_t>(i)];
  const Sequence& sequence = store_[id];
  if (sequence.loaded) return 0;
  return shared_->look_further(id, sequence.prefill_tokens, sequence.preempted, *tiers_);
}

bool Instance::waiting_has_blocks(std::int64_t i) const {
  return store_[waiting_[static_cast<std::size_t>(i)]].loaded;
}

/// The head of the queue leaves it, and takes blocks for all that it prefills: those who load never
/// wait for each other's blocks.
void Instance::begin_load() {
  const TimePoint now = simulation_.now();
  const SequenceId id = waiting_.pop_front();
  --visible_;
  Sequence& sequence = store_[id];
  pool_.count_taken(shared_->take_found(id));
  const std::int64_t found = shared_->found(id) / limits_.block_size;
  pool_.allocate(limits_.blocks(sequence.prefill_tokens) - found);
  parked_stored_ += shared_->found(id);
  final_blocks_ += limits_.blocks(final_tokens(sequence));
  if (sequence.preempted)
    record(sequence).parts[Part::preempted] += now - sequence.since;
  else
    end_waiting(sequence);
  const std::int64_t external = shared_->external(id) / limits_.block_size;
  const KvTiers::Load load = tiers_->load(shared_->hashes(id, found, found + external), now);
  const Duration queue = load.end - now - load.wire;
  observe(SequenceEvent::loading, sequence, queue);
  record(sequence).parts[Part::transfer_queue] += queue;
  record(sequence).parts[Part::transfer_wire] += load.wire;
  loading_.push_back({.id = id, .event = simulation_.at(load.end, Phase::completion, [this, id] {
                        end_load(id);
                      })});
}

void Instance::end_load(SequenceId id) {
  Loading& loading = *std::ranges::find(loading_, id, &Loading::id);
  loading.there = true;
  parked_stored_ += shared_->external(id);
  shared_->loaded(id);
  store_[id].since = simulation_.now();
  observe(SequenceEvent::loaded, store_[id]);
  wake();
}

/// Those whose KV is there come before all others in the queue, in the order in which they began.
void Instance::look_at_loaded() {
  const TimePoint now = simulation_.now();
  for (const Loading& loading : loading_) {
    if (!loading.there) continue;
    Sequence& sequence = store_[loading.id];
    record(sequence).parts[Part::wait_step] += now - sequence.since;
    sequence.since = now;
    sequence.snapshot = {};
    std::ranges::copy(waited_, sequence.snapshot.begin());
    sequence.loaded = true;
    waiting_.put_first(loading.id, static_cast<std::size_t>(loaded_waiting_++));
    ++visible_;
    ++known_;
  }
  std::erase_if(loading_, [](const Loading& loading) { return loading.there; });
}

/// A loaded sequence is admitted: of its blocks it keeps those that its first piece needs.
void Instance::take_over_loaded(Sequence& sequence, std::int64_t tokens) {
  sequence.loaded = false;
  --loaded_waiting_;
  parked_stored_ -= sequence.stored;
  final_blocks_ -= limits_.blocks(final_tokens(sequence));
  unused_blocks_ +=
      limits_.blocks(sequence.prefill_tokens) - limits_.blocks(sequence.stored + tokens);
}

/// What a request found, of its own that it had given up, and of others.
void Instance::count_found(const Sequence& sequence, SequenceId id) {
  const std::int64_t found = shared_->found(id);
  const std::int64_t external = tiers_ ? shared_->external(id) : 0;
  const std::int64_t here = found - external;
  stats_.loaded_tokens += external;
  if (!sequence.preempted) {
    stats_.queried_tokens += sequence.prefill_tokens;
    stats_.hit_tokens += here;
    stats_.external_queried_tokens += tiers_ ? sequence.prefill_tokens - here : 0;
    stats_.external_hit_tokens += external;
    if (!sequence.abandoned) log_.cached_tokens[sequence.request] = found;
    return;
  }
  const std::int64_t own = std::min(found, shared_->given_up(id));
  record(sequence).recomputed_tokens -= own;
  stats_.recomputed_tokens += shared_->given_up(id) - own;
  const std::int64_t own_here = std::min(here, own);
  stats_.hit_tokens += here - own_here;
  stats_.external_hit_tokens += external - (own - own_here);
}

/// All that was under way, or is kept behind the pool, is lost.
void Instance::lose_loading(std::vector<std::uint32_t>& requests) {
  const auto lose = [this](SequenceId id) {
    final_blocks_ -= limits_.blocks(final_tokens(store_[id]));
    parked_stored_ -= shared_->found(id);
    stats_.lost_load_tokens += shared_->external(id);
  };
  for (Loading& loading : loading_) {
    if (!loading.there) simulation_.cancel(loading.event);
    const Sequence& sequence = store_[loading.id];
    lose(loading.id);
    requests.push_back(sequence.request);
    lose_given_up(loading.id);
    stats_.discarded_tokens += sequence.generated;
    store_.destroy(loading.id);
  }
  loading_.clear();
  for (; loaded_waiting_ > 0; --loaded_waiting_)
    lose(waiting_[static_cast<std::size_t>(loaded_waiting_ - 1)]);
  if (tiers_) tiers_->clear(simulation_.now());
}

}  // namespace tokenline
