#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/base/time.hpp"
#include "sim/config/reader.hpp"

namespace tokenline {

/// What goes wrong with a replica.
enum class FaultKind : std::uint8_t {
  instance_crash,  ///< It loses everything, and serves again after `restart`.
  straggler,       ///< Its GPU times are multiplied by `slowdown` in [at, to).
};

/// The word used in scenarios and in summary.json.
[[nodiscard]] constexpr std::string_view name(FaultKind kind) {
  return kind == FaultKind::instance_crash ? "instance_crash" : "straggler";
}

/// One item of `faults:`.
struct Fault {
  FaultKind kind = FaultKind::instance_crash;
  std::uint32_t replica = 0;
  TimePoint at{};      ///< When it crashes, or begins to be slow.
  TimePoint to{};      ///< When a straggler is as fast as before.
  Duration restart{};  ///< From the crash until it serves again.
  double slowdown = 1.0;
};

/// A fault after a run, and whether it happened: the replica was there, and requests were to come.
struct FaultResult {
  Fault fault;
  bool happened = false;
};

/// By how much the GPUs of a replica are slower at `now` than their prices: the product over the
/// stragglers of that time, 1 without one. O(faults).
[[nodiscard]] double slowdown(const std::vector<Fault>& faults, std::uint32_t replica,
                              TimePoint now);

/// Reads `faults:`. `replicas`: how many there can be; a crash without `restart` takes
/// `restart_delay`.
[[nodiscard]] std::vector<Fault> read_faults(config::Reader& root, std::int64_t replicas,
                                             Duration restart_delay);

}  // namespace tokenline
