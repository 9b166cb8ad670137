#include "sim/engine/ledger.hpp"

namespace tokenline {

std::string_view name(Part part) {
  static constexpr std::array<std::string_view, part_count> names{
      "wait_step",   "wait_sequence_slot", "wait_kv_blocks",   "wait_token_budget",
      "own_prefill", "prefill_stretched",  "preempted",        "recomputed",
      "host_gap",    "pipeline_wait",      "transfer_queue",   "transfer_wire",
      "restart",     "decode_floor",       "decode_stretched", "decode_stalled"};
  return names.at(static_cast<std::size_t>(part));
}

}  // namespace tokenline
