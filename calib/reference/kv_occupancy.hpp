#pragma once

#include <cstdint>
#include <span>

namespace tokenline::reference {

/// A request whose KV grows from its prompt to prompt + output tokens, one per step.
struct KvDemand {
  std::int64_t prompt = 1;
  std::int64_t output = 1;
  [[nodiscard]] std::int64_t final_tokens() const { return prompt + output; }
};

/// How memory for KV is handed out. The contiguous ones reserve a run of places at admission, the
/// first that is long enough (the baselines of Kwon et al., SOSP'23, section 6.1).
enum class KvLayout {
  longest,       ///< As many as the longest request may need: Orca (Max).
  power_of_two,  ///< The final length rounded up to a power of two: Orca (Pow2).
  exact,         ///< The final length, as if it were known: Orca (Oracle).
  paged,         ///< Blocks on demand; when none is free the newest request starts over.
};

/// Token places by what they are used for, means over steps; they sum to all of the memory.
struct KvOccupancy {
  double stored = 0.0;    ///< Hold a token.
  double internal = 0.0;  ///< Handed out and empty: internal fragmentation, reservation included.
  double external = 0.0;  ///< Free, in runs too short for what the next request needs.
  double free = 0.0;      ///< Free, and of use.
  double running = 0.0;   ///< Requests.
  std::int64_t steps = 0;
  std::int64_t preemptions = 0;
};

/// Serves all requests in order through a memory of `places` tokens, each admitted as soon as it
/// fits, all growing by a token a step. `longest` is what KvLayout::longest reserves. Means are
/// over the steps in which some request waits: memory is then what limits. Contract: every request
/// fits in empty memory.
[[nodiscard]] KvOccupancy kv_occupancy(std::span<const KvDemand> requests, KvLayout layout,
                                       std::int64_t places, std::int64_t longest,
                                       std::int64_t block_size);

}  // namespace tokenline::reference
