#include "sim/engine/instance_stats.hpp"

namespace tokenline {

InstanceStats InstanceStats::since(const InstanceStats& earlier) const {
  InstanceStats d = *this;
  d.steps -= earlier.steps;
  d.busy -= earlier.busy;
  d.gpu -= earlier.gpu;
  d.down -= earlier.down;
  d.flops -= earlier.flops;
  d.hbm_bytes -= earlier.hbm_bytes;
  d.price_error -= earlier.price_error;
  d.off_grid -= earlier.off_grid;
  d.preemptions -= earlier.preemptions;
  d.restarts -= earlier.restarts;
  d.failures -= earlier.failures;
  d.prefilled_tokens -= earlier.prefilled_tokens;
  d.recomputed_tokens -= earlier.recomputed_tokens;
  d.decoded_tokens -= earlier.decoded_tokens;
  d.queried_tokens -= earlier.queried_tokens;
  d.hit_tokens -= earlier.hit_tokens;
  d.spared_tokens -= earlier.spared_tokens;
  d.external_queried_tokens -= earlier.external_queried_tokens;
  d.external_hit_tokens -= earlier.external_hit_tokens;
  d.loaded_tokens -= earlier.loaded_tokens;
  d.lost_load_tokens -= earlier.lost_load_tokens;
  for (std::size_t i = 0; i < most_tiers; ++i) d.tiers[i] = tiers[i].since(earlier.tiers[i]);
  d.lost_kv_tokens -= earlier.lost_kv_tokens;
  d.emitted_tokens -= earlier.emitted_tokens;
  d.discarded_tokens -= earlier.discarded_tokens;
  d.abandoned -= earlier.abandoned;
  d.aborts -= earlier.aborts;
  d.passes -= earlier.passes;
  d.pass_tokens -= earlier.pass_tokens;
  d.drafted_tokens -= earlier.drafted_tokens;
  d.tested_tokens -= earlier.tested_tokens;
  d.accepted_tokens -= earlier.accepted_tokens;
  d.breaker_trips -= earlier.breaker_trips;
  d.swapped_out_blocks -= earlier.swapped_out_blocks;
  d.swapped_in_blocks -= earlier.swapped_in_blocks;
  d.swap_dropped_blocks -= earlier.swap_dropped_blocks;
  d.swap_space_lacking -= earlier.swap_space_lacking;
  d.swapping -= earlier.swapping;
  d.running_seconds -= earlier.running_seconds;
  d.waiting_seconds -= earlier.waiting_seconds;
  d.kv_allocated_seconds -= earlier.kv_allocated_seconds;
  d.kv_stored_seconds -= earlier.kv_stored_seconds;
  return d;
}

}  // namespace tokenline
