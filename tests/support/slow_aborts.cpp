// Requests of the slow engine whose clients have given them up.
#include <algorithm>

#include "tests/support/slow_replica.hpp"

namespace tokenline::test {

void SlowReplica::abandon(const SlowSequencePtr& sequence, bool abort) {
  sequence->abandoned = true;
  sequence->abandonment = abandonments_++;
  sequence->aborted = abort;
  if (!up_) let_go_of_aborted();  // The host looks at it before it has started.
}

/// What has a step under way stays until that has ended.
bool SlowReplica::may_go(const SlowBatch& batch, const SlowSequence& sequence) const {
  if (!sequence.aborted || sequence.finished() || sequence.under_way()) return false;
  return sequence.partial() || !batch.step;
}

void SlowReplica::let_go_of_aborted() {
  world_.run.counts.aborts_waiting += static_cast<std::int64_t>(
      std::erase_if(waiting_, [](const auto& sequence) { return sequence->aborted; }));
  for (const auto& sequence : swapped_)
    if (sequence->aborted) host_used_ -= limits_.blocks(sequence->stored);
  const auto gone_swapped = static_cast<std::int64_t>(
      std::erase_if(swapped_, [](const auto& sequence) { return sequence->aborted; }));
  world_.run.counts.aborts_waiting += gone_swapped;
  world_.run.counts.lost_swapped += gone_swapped;
  std::vector<std::pair<SlowSequencePtr, SlowBatch*>> leaving;
  for (SlowBatch& batch : batches_)
    for (const auto& sequence : batch.running)
      if (may_go(batch, *sequence)) leaving.emplace_back(sequence, &batch);
  // Whose blocks are overwritten first: in the order in which they were given up.
  std::ranges::sort(leaving, {}, [](const auto& one) { return one.first->abandonment; });
  for (const auto& [sequence, batch] : leaving) {
    pool_.release(sequence->came);
    std::erase(batch->running, sequence);
    ++world_.run.counts.aborts_running;
    if (!batch->step) drop_finished(*batch);
  }
}

}  // namespace tokenline::test
