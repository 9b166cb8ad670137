#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/engine/run.hpp"

namespace tokenline::report {

/// The latency that is split into parts.
enum class SplitLatency : std::uint8_t { ttft, e2el };

/// Requests of neighbouring ranks in the order of their latency, and where their time went.
struct LedgerBand {
  std::string_view name;  ///< "P90 to P99"
  std::int64_t requests = 0;
  double least_ms = 0.0;  ///< Latency of the fastest,
  double most_ms = 0.0;   ///< and of the slowest of them.
  /// By Part; of TTFT the first ttft_part_count. Sums to the mean latency of the band.
  std::vector<double> mean_ms;
  /// By Part: at most LedgerSplit::behind_limit of its requests, those that lost most to the part
  /// first, then the slowest; none that lost nothing to it.
  std::vector<std::vector<std::uint32_t>> behind;
};

/// A latency of a class, or of all, split by how slow the requests were.
struct LedgerSplit {
  static constexpr std::size_t behind_limit = 10;

  /// All requests; then those below P50, from P50 to P90, from P90 to P99, and from P99 on, each
  /// with the request at the nearest rank ⌈q n⌉ that it begins with. Bands of no request are left
  /// out; all are where none completed.
  std::vector<LedgerBand> bands;
};

/// Both latencies of a class, or of all.
struct ClassLedger {
  std::string name;
  LedgerSplit ttft;
  LedgerSplit e2el;
};

/// Of the measured, completed requests. "all" first, then every class in the order of the run; of a
/// single class that class alone.
[[nodiscard]] std::vector<ClassLedger> ledger_bands(const RunResult& run);

/// When the slowest arrived.
struct TailInterval {
  TimePoint from{};
  TimePoint to{};
  std::vector<TimePoint> arrivals;  ///< Of every request of the tail, ascending.
};

/// The shortest interval in which nine of ten of the slowest arrived: of the measured, completed
/// requests of all classes from P99 of TTFT on. Empty where none completed.
[[nodiscard]] std::optional<TailInterval> tail_interval(const RunResult& run);

}  // namespace tokenline::report
