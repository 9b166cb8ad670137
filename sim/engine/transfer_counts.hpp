#pragma once

#include <cstdint>

namespace tokenline {

/// Bytes of all flows of a run.
struct FlowCounts {
  std::int64_t begun = 0;
  std::int64_t delivered = 0;
  std::int64_t cancelled = 0;
};

/// What the transfers of a run came to.
struct TransferCounts {
  std::int64_t begun = 0;      ///< Requests that another instance was told to expect,
  std::int64_t landed = 0;     ///< whose KV has arrived there,
  std::int64_t cancelled = 0;  ///< or that an instance lost before.
  std::int64_t left = 0;       ///< Neither.
  /// KV of the requests that have landed, as their receivers keep it, but for what they had.
  std::int64_t received_bytes = 0;
  /// What flows delivered of requests that were cancelled before the rest arrived.
  std::int64_t delivered_of_cancelled = 0;
  FlowCounts flows;
};

}  // namespace tokenline
