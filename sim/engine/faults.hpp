#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "hwmodels/network/network.hpp"
#include "sim/base/time.hpp"
#include "sim/config/reader.hpp"

namespace tokenline {

/// What goes wrong with a replica, or between nodes.
enum class FaultKind : std::uint8_t {
  instance_crash,  ///< It loses everything, and serves again after `restart`.
  straggler,       ///< Its GPU times are multiplied by `slowdown` in [at, to).
  link_brownout,   ///< Cables carry less in [at, to).
};

/// The word used in scenarios and in summary.json.
[[nodiscard]] std::string_view name(FaultKind kind);

/// One item of `faults:`.
struct Fault {
  FaultKind kind = FaultKind::instance_crash;
  std::uint32_t replica = 0;  ///< Of a crash or a straggler.
  TimePoint at{};             ///< When it crashes, or the other faults begin.
  TimePoint to{};             ///< When the other faults are over.
  Duration restart{};         ///< From the crash until it serves again.
  double slowdown = 1.0;
  hw::Brownout brownout = {};
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

/// The brown-outs of a time, in the order of the scenario.
[[nodiscard]] std::vector<hw::Brownout> brownouts(const std::vector<Fault>& faults, TimePoint now);

/// When brownouts() changes, ascending.
[[nodiscard]] std::vector<TimePoint> brownout_changes(const std::vector<Fault>& faults);

/// What faults can befall.
struct FaultTargets {
  std::int64_t replicas = 1;  ///< How many there can be.
  Duration restart_delay{};   ///< Of a crash without `restart`.
  bool names_network = false;
  const hw::Network* network = nullptr;  ///< Null without one, and after a mistake in it.
};

/// Reads `faults:`.
[[nodiscard]] std::vector<Fault> read_faults(config::Reader& root, const FaultTargets& targets);

}  // namespace tokenline
