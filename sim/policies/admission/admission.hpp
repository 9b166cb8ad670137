#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/base/quantity.hpp"
#include "sim/base/time.hpp"
#include "sim/policies/router/router.hpp"

namespace tokenline {

/// A request at the door of the cluster.
struct AdmissionRequest {
  TimePoint now{};
  std::uint32_t class_index = 0;
  std::int64_t prompt_tokens = 0;
};

/// What an admission policy is made of: the keys of all, each of use to one.
struct AdmissionSetup {
  std::optional<std::int64_t> max_waiting = {};  ///< Of all replicas together.
  std::optional<std::int64_t> max_waiting_per_replica = {};
  bool bucket_counts_tokens = false;  ///< Of prompts, instead of requests.
  PerSecond bucket_rate{1.0};
  std::int64_t bucket_burst = 1;
  std::int64_t shed_above = 1;                ///< Waiting requests of all replicas together.
  std::vector<std::int64_t> priorities = {};  ///< By class; the smallest goes first.
};

/// Decides at the door which requests enter. Contract: each request is shown when its client
/// sends it, in the order of time; `replicas` are those that the router would choose among; a
/// request that is not admitted has ended. A policy that is null admits all.
class AdmissionControl {
 public:
  virtual ~AdmissionControl() = default;
  [[nodiscard]] virtual bool admits(const AdmissionRequest& request,
                                    std::span<const ReplicaView> replicas) = 0;
  /// Whether the router may choose the replica; some are, for a request that is admitted.
  [[nodiscard]] virtual bool has_room(const ReplicaView& /*replica*/) const { return true; }
};

/// Requests that wait on all replicas together.
[[nodiscard]] inline std::int64_t waiting_on(std::span<const ReplicaView> replicas) {
  std::int64_t sum = 0;
  for (const ReplicaView& replica : replicas) sum += replica.waiting;
  return sum;
}

}  // namespace tokenline
