// Sequences that are preempted by swapping: their KV waits in host memory.
#include "sim/engine/instance.hpp"

namespace tokenline {

/// Whether a sequence that has just been preempted goes to host memory: there is room for it.
bool Instance::swap_out(SequenceId id) {
  if (!config_.preempt_by_swap) return false;
  Sequence& sequence = store_[id];
  const std::int64_t blocks = limits_.blocks(sequence.stored);
  if (blocks > host_.free()) {
    ++stats_.swap_space_lacking;
    return false;
  }
  host_.allocate(blocks);
  pool_.release(blocks);
  copied_out_ += blocks;
  stats_.swapped_out_blocks += blocks;
  sequence.swapped = true;
  sequence.since = simulation_.now();
  observe(SequenceEvent::swapped_out, sequence);
  swapped_.push_back(id);
  return true;
}

/// Those that fit beside the next step of the ones that run, the first to leave first.
void Instance::swap_in() {
  while (!swapped_.empty() && own_slots() < limits_.max_num_seqs) {
    const SequenceId id = swapped_.front();
    Sequence& sequence = store_[id];
    const std::int64_t blocks = limits_.blocks(sequence.stored);
    const std::int64_t needed =
        decode_growth() + limits_.blocks(sequence.stored + tokens_per_decode());
    if (needed + limits_.watermark_blocks > pool_.free()) return;
    swapped_.pop_front();
    host_.release(blocks);
    pool_.allocate(blocks);
    copied_in_ += blocks;
    stats_.swapped_in_blocks += blocks;
    sequence.swapped = false;
    record(sequence).parts[Part::preempted] += simulation_.now() - sequence.since;
    observe(SequenceEvent::swapped_in, sequence);
    sequence.order = next_order_++;
    add_running(id);
    begin_decoding(sequence);
    here().decoding.join(id);
    if (sequence.measured) here().gaps.started(sequence.last_token, sequence.class_index);
  }
}

/// What the GPU copies before it computes the step that is decided.
Duration Instance::swap_time() {
  Duration time{};
  if (copied_out_ > 0) time += to_duration(host_plan_.swap_out.time(copied_out_));
  if (copied_in_ > 0) time += to_duration(host_plan_.swap_in.time(copied_in_));
  copied_out_ = 0;
  copied_in_ = 0;
  stats_.swapping += time;
  return time;
}

/// A swapped sequence that is lost, or given up.
void Instance::drop_swapped(SequenceId id) {
  const std::int64_t blocks = limits_.blocks(store_[id].stored);
  host_.release(blocks);
  stats_.swap_dropped_blocks += blocks;
  stats_.lost_kv_tokens += store_[id].stored;
}

}  // namespace tokenline
