// An instance that runs out of memory, or fails, and comes back.
#include <algorithm>
#include <utility>

#include "sim/engine/instance.hpp"

namespace tokenline {

void Instance::lose(MicroBatch& batch, std::vector<SequenceId>& lost) {
  for (SequenceId id = batch.running.front(); id != no_sequence; id = store_[id].running.next) {
    const Sequence& sequence = store_[id];
    lost.push_back(id);
    if (sequence.stored < sequence.prefill_tokens) continue;
    const bool stepped = batch.decoding.stored(id) > sequence.stored;
    batch.decoding.leave(id);
    if (sequence.measured) batch.gaps.stopped(sequence.last_token, sequence.class_index, stepped);
  }
  // Pieces under way count as computed, and are in no sequence yet.
  for (const PrefillPiece& piece : batch.pieces) stats_.lost_kv_tokens += piece.chunk.new_tokens;
  batch.pieces.clear();
}

/// A preempted sequence that was to look for its KV again is lost, and finds nothing.
void Instance::lose_given_up(SequenceId id) {
  if (shared_ && store_[id].preempted) stats_.recomputed_tokens += shared_->given_up(id);
}

void Instance::lose_elsewhere(std::vector<std::uint32_t>& requests) {
  for (auto* parked : {&handed_over_, &landed_}) {
    for (const SequenceId id : *parked) {
      stats_.discarded_tokens += store_[id].generated;
      stats_.lost_kv_tokens += store_[id].stored;
      unpark(id);
    }
  }
  // The KV and the first tokens of what is to come are still the other instance's.
  for (const SequenceId id : reserved_) {
    held_blocks_ -= limits_.blocks(store_[id].stored);
    parked_stored_ -= found_here(id);
  }
  for (auto* ids : {&handed_over_, &landed_, &reserved_, &expected_}) {
    for (const SequenceId id : *ids) {
      requests.push_back(store_[id].request);
      store_.destroy(id);
    }
    ids->clear();
  }
  seen_landed_ = 0;
}

void Instance::run_out_of_memory() {
  here().pieces.clear();  // Of the step that did not fit.
  crash(restart_delay_, Outcome::lost_oom);
}

void Instance::fail(Duration restart) {
  if (event_) simulation_.cancel(*std::exchange(event_, std::nullopt));
  decide_at_.reset();
  ++stats_.failures;
  crash(restart, Outcome::lost_crash);
}

void Instance::cut_restart() {
  simulation_.cancel(recovery_);
  stats_.down -= boundary_ - simulation_.now();
  boundary_ = simulation_.now();
}

void Instance::stop_restart() {
  if (down_ && stats_.failures > 0 && outstanding_ == 0) cut_restart();
}

void Instance::renew() {
  if (down_) {
    cut_restart();
    recover();
  }
  pool_.clear();
  if (tiers_) tiers_->clear(simulation_.now());
}

void Instance::crash(Duration restart, Outcome loss) {
  ++stats_.restarts;
  const TimePoint now = simulation_.now();
  if (down_) {
    cut_restart();
  } else if (boundary_ > now) {
    stats_.busy -= boundary_ - now;
    listener_.cut_short(index_, now);
  }
  down_ = true;
  std::vector<SequenceId> lost;
  for (MicroBatch& batch : micro_batches_) lose(batch, lost);
  std::ranges::sort(lost, {}, [this](SequenceId id) { return store_[id].order; });
  std::vector<std::uint32_t> requests;
  for (const SequenceId id : lost) {
    if (!store_[id].abandoned) requests.push_back(store_[id].request);
    stats_.discarded_tokens += store_[id].generated;
    stats_.lost_kv_tokens += store_[id].stored;
    remove_running(id);
    store_.destroy(id);
  }
  for (const SequenceId id : swapped_) {
    if (!store_[id].abandoned) requests.push_back(store_[id].request);
    stats_.discarded_tokens += store_[id].generated;
    drop_swapped(id);
    store_.destroy(id);
  }
  swapped_.clear();
  copied_out_ = 0;
  copied_in_ = 0;
  lose_elsewhere(requests);
  lose_loading(requests);
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    const SequenceId id = waiting_[i];
    if (!store_[id].abandoned) requests.push_back(store_[id].request);
    lose_given_up(id);
    stats_.discarded_tokens += store_[id].generated;
    store_.destroy(id);
  }
  waiting_.clear();
  aborts_.clear();
  visible_ = 0;
  known_ = 0;
  partial_ = no_sequence;
  prefilling_stored_ = 0;
  for (MicroBatch& batch : micro_batches_) {
    release_held(batch);
    batch.end = now;
  }
  idle_.insert(idle_.end(), under_way_.begin(), under_way_.end());
  under_way_.clear();
  std::ranges::fill(stage_free_, now);
  host_free_ = now;
  pool_.clear();
  outstanding_ = 0;
  boundary_ = now + restart;
  stats_.down += restart;
  recovery_ = simulation_.at(boundary_, Phase::completion, [this] { recover(); });
  if (observer_ != nullptr) observer_->down(index_, now, boundary_);
  for (const std::uint32_t request : requests) {
    if (observer_ != nullptr) observer_->sequence({SequenceEvent::lost, request, index_, now, {}});
    log_.records[request].instance = index_;
    listener_.crashed(request, loss);
  }
}

}  // namespace tokenline
