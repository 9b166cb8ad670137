#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hwmodels/network/network.hpp"
#include "sim/base/quantity.hpp"

namespace tokenline::hw {

/// What passes before the bytes of a transfer take bandwidth: the latency of its path, and the cost
/// of each of its contiguous pieces (for paged KV: pages · layers · 2, where K and V are apart).
[[nodiscard]] Seconds startup_time(const Path& path, std::int64_t messages);

/// A transfer that is alone in the network: startup_time() + bytes / bandwidth of the path.
[[nodiscard]] Seconds transfer_time(const Path& path, Bytes bytes, std::int64_t messages);

/// A transfer after its start-up.
struct ActiveTransfer {
  std::span<const CapacityId> uses;  ///< Path::uses; must outlive the calls.
  Bytes remaining;                   ///< Above 0.
  double weight = 1.0;               ///< As in FlowDemand.
};

/// How transfers in progress go on until one of them ends or another begins.
struct TransferProgress {
  std::vector<BytesPerSecond> rates;  ///< Of each transfer.
  Seconds next;                       ///< Until the first one ends.
  std::size_t first = 0;              ///< That one; of several, the first in the list.
};

/// Rates by fair_rates(), and when the first transfer ends at these rates. The caller owns clock
/// and events: at every start and end it calls advance(), then this. O(C + U log U) as
/// fair_rates(), whatever changed; README.md has times. Contract: there is a transfer.
[[nodiscard]] TransferProgress progress(std::span<const BytesPerSecond> capacities,
                                        std::span<const ActiveTransfer> transfers);

/// Takes away the bytes that went through in `elapsed`, at most TransferProgress::next to the
/// nanosecond. A transfer that would end less than a nanosecond later, within the resolution of the
/// simulator's clock, has ended: its remaining bytes are 0.
void advance(std::span<ActiveTransfer> transfers, std::span<const BytesPerSecond> rates,
             Seconds elapsed);

}  // namespace tokenline::hw
