#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/quantity.hpp"
#include "sim/base/time.hpp"
#include "sim/config/reader.hpp"

namespace tokenline {

/// What a replica reports to the autoscaler.
enum class ScaleMetric : std::uint8_t {
  queue_length,      ///< Requests that wait (vLLM's num_requests_waiting).
  running_requests,  ///< Requests in its batches (num_requests_running).
  kv_usage,          ///< The share of its KV blocks that is in use (kv_cache_usage_perc).
};

/// `cluster.autoscale`: the Horizontal Pod Autoscaler of Kubernetes.
struct AutoscaleConfig {
  std::int64_t min = 1;
  std::int64_t max = 1;
  ScaleMetric metric = ScaleMetric::queue_length;
  double target = 1.0;       ///< Of the metric, per replica.
  double tolerance = 0.1;    ///< Nothing changes while total / (replicas · target) is so near to 1.
  Duration interval{};       ///< Between two looks at the metric.
  Duration stabilization{};  ///< Scaling down goes to the largest number wanted within it.
  Duration cold_start{};     ///< From the decision to a replica that serves, weights apart.
  std::optional<BytesPerSecond> weights_bandwidth;  ///< At which a replica loads its weights.
};

/// Reads `autoscale:` of the cluster's section, if it is there; `replicas` is how many there are at
/// the start.
[[nodiscard]] std::optional<AutoscaleConfig> read_autoscale(config::Reader& cluster,
                                                            std::int64_t replicas);

/// How many replicas there were from an instant on.
struct FleetSize {
  TimePoint when{};
  std::int64_t serving = 0;
  std::int64_t starting = 0;
  std::int64_t draining = 0;
};

/// What autoscaling came to in a run.
struct FleetResult {
  std::vector<FleetSize> sizes;  ///< From the start; one per change.
  std::int64_t scale_ups = 0;    ///< Replicas asked for,
  std::int64_t scale_downs = 0;  ///< and replicas given back.
};

}  // namespace tokenline
