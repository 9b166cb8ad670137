#include "hwmodels/network/transfer.hpp"

#include "hwmodels/network/fair_share.hpp"
#include "sim/base/check.hpp"
#include "sim/base/integer.hpp"

namespace tokenline::hw {

Seconds startup_time(const Path& path, std::int64_t messages) {
  return path.latency + real(messages) * path.message;
}

Seconds transfer_time(const Path& path, Bytes bytes, std::int64_t messages) {
  return startup_time(path, messages) + bytes / path.bandwidth;
}

TransferProgress progress(std::span<const BytesPerSecond> capacities,
                          std::span<const ActiveTransfer> transfers) {
  TOKENLINE_CHECK(!transfers.empty(), "no transfer in progress");
  std::vector<FlowDemand> flows;
  flows.reserve(transfers.size());
  for (const ActiveTransfer& transfer : transfers)
    flows.push_back({.uses = transfer.uses, .weight = transfer.weight});
  TransferProgress result{.rates = fair_rates(capacities, flows), .next = {}, .first = 0};
  result.next = transfers.front().remaining / result.rates.front();
  for (std::size_t i = 1; i < transfers.size(); ++i) {
    const Seconds end = transfers[i].remaining / result.rates[i];
    if (end >= result.next) continue;
    result.next = end;
    result.first = i;
  }
  return result;
}

void advance(std::span<ActiveTransfer> transfers, std::span<const BytesPerSecond> rates,
             Seconds elapsed) {
  constexpr Seconds resolution(1e-9);
  TOKENLINE_CHECK(rates.size() == transfers.size(), "{} rates for {} transfers", rates.size(),
                  transfers.size());
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    Bytes& remaining = transfers[i].remaining;
    const bool ended = remaining / rates[i] < elapsed + resolution;
    remaining = ended ? Bytes() : remaining - rates[i] * elapsed;
  }
}

}  // namespace tokenline::hw
