#include "sim/engine/autoscale_config.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tokenline {
namespace {

constexpr config::Range<double> delays{0.0, 86'400.0};
constexpr config::Range<std::int64_t> fleet{1, 4096};

/// Each term on its own, since they differ by orders of magnitude (vLLM issues 19824 and 20264).
void read_cold_start(config::Reader& section, AutoscaleConfig& config) {
  const auto term = [&](config::Key key) {
    config.cold_start += to_duration(section.seconds(key, delays, "0 s"));
  };
  term({"node", "Until a machine with free GPUs is there."});
  term({"image", "Until the container runs."});
  section.alternative("", section.has("weights_bandwidth"), [&] {
    config.weights_bandwidth = section.bandwidth(
        {"weights_bandwidth", "At which a replica loads its weights; without it they are there."},
        {1e6, 1e13});
  });
  term({"compile", "Compilation of the model."});
  term({"graph_capture", "Capture of CUDA graphs."});
  term({"warm_up", "First requests, profiling, probes, until the router knows of it."});
}

}  // namespace

std::optional<AutoscaleConfig> read_autoscale(config::Reader& cluster, std::int64_t replicas) {
  auto section = cluster.optional_section(
      {"autoscale", "Replicas come and go as under Kubernetes' Horizontal Pod Autoscaler."});
  if (!section) return {};
  const std::size_t before = cluster.document().mistakes();
  AutoscaleConfig config;
  config.min = section->integer({"min", "Fewest replicas."}, fleet);
  config.max = section->integer({"max", "Most replicas."}, fleet);
  static const std::vector<std::string> metrics{"queue_length", "running_requests", "kv_usage"};
  const std::string metric = section->word(
      {"metric", "What is measured: waiting or running requests, or the share of KV in use."},
      metrics);
  config.metric = static_cast<ScaleMetric>(std::ranges::find(metrics, metric) - metrics.begin());
  config.target = section->real({"target", "The metric that a replica should have."}, {1e-3, 1e6});
  // Defaults are those of Kubernetes (Horizontal Pod Autoscaling, kube-controller-manager):
  // sync period 15 s, tolerance 0.1, scale-down stabilization 300 s.
  config.interval = to_duration(
      section->seconds({"interval", "Between two looks at the metric."}, {1e-3, 1e6}, "15 s"));
  config.tolerance = section->real(
      {"tolerance", "Nothing changes while the metric is so near to its target, as a share."},
      {0.0, 1.0}, 0.1);
  config.stabilization = to_duration(section->seconds(
      {"scale_down_stabilization", "Replicas go only when more have not been wanted for so long."},
      {0.0, 86'400.0}, "300 s"));
  config::Reader cold_start = section->section(
      {"cold_start", "What passes from the decision until a new replica serves: a sum."});
  read_cold_start(cold_start, config);
  cold_start.finish();
  if (cluster.document().mistakes() == before) {
    if (config.metric == ScaleMetric::kv_usage && config.target > 1.0)
      section->error("target", "kv_usage is a share of the pool, at most 1", "write 0.8 for 80 %");
    if (config.max < config.min) section->error("max", "the most are fewer than the fewest");
    if (replicas < config.min || replicas > config.max)
      cluster.error(
          "replicas",
          fmt::format("{} replicas at the start are not between min and max of autoscale",
                      replicas),
          fmt::format("cluster.replicas: {} to {}, or other bounds", config.min, config.max));
  }
  section->finish();
  return config;
}

}  // namespace tokenline
