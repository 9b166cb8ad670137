#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/time.hpp"
#include "sim/engine/instance_stats.hpp"
#include "sim/engine/prefix_cache.hpp"
#include "sim/engine/request_log.hpp"
#include "sim/engine/transfer_counts.hpp"
#include "sim/stats/int128.hpp"

namespace tokenline {

/// The verdict on one invariant; sim/INVARIANTS.md numbers and states them.
struct AuditCheck {
  std::string id;    ///< "A1"
  std::string name;  ///< "requests are conserved"
  bool passed = false;
  std::string details;  ///< The figures that were compared.
};

struct AuditReport {
  bool passed = true;
  std::vector<AuditCheck> checks;
};

/// The blocks of an instance's pool where requests may begin alike.
struct CacheAudit {
  std::int64_t blocks = 0;
  std::int64_t used = 0;  ///< By the pool's own count.
  PrefixCache::Census census;
};

/// The host memory of an instance with preemption_mode: swap.
struct SwapAudit {
  std::int64_t blocks = 0;
  std::int64_t allocated = 0;
  std::int64_t released = 0;
};

/// The tiers behind the pool of an instance.
struct TierAudit {
  std::array<std::int64_t, most_tiers> blocks{};
  std::array<std::int64_t, most_tiers> census{};
  std::int64_t known = 0;       ///< Blocks that can be found.
  std::int64_t block_size = 0;  ///< Tokens.
};

/// What an audit needs of one instance at the end of a run.
struct AuditedInstance {
  InstanceStats stats;
  std::int64_t blocks_allocated = 0;
  std::int64_t blocks_released = 0;
  std::int64_t outstanding = 0;
  Bytes hbm_capacity;
  std::optional<CacheAudit> cache;  ///< None where requests do not begin alike.
  std::optional<SwapAudit> swap = {};
  std::optional<TierAudit> tiers = {};  ///< None without kv_offload.
};

/// What an audit compares, gathered independently of the records where it can be.
struct AuditInput {
  const RequestLog& log;
  std::vector<AuditedInstance> instances;
  std::uint64_t offered = 0;    ///< Arrivals counted as they happened.
  std::uint64_t ended = 0;      ///< Completions and failures counted as they happened.
  std::uint64_t rejected = 0;   ///< Refusals among them,
  std::uint64_t timed_out = 0;  ///< and those that clients gave up.
  stats::Int128 in_system = 0;  ///< ∫ requests in the system dt, in requests·ns.
  TimePoint end{};
  std::optional<TransferCounts> transfers = {};  ///< Where pools hand over KV.
};

/// Checks every invariant of a finished run.
[[nodiscard]] AuditReport audit(const AuditInput& input);

}  // namespace tokenline
