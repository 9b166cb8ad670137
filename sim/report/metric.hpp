#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/report/summary.hpp"

namespace tokenline::report {

/// Why a text names no metric, and what to write instead.
struct MetricMistake {
  std::string message;
  std::string hint;
};

/// A metric is named `<class>.<key>` ("all.output_throughput") or `instances.<key>`, in a scenario
/// with pools also `pools.<pool>.<key>` or `transfers.<key>`. Empty when `path` names one, with
/// `classes` and `pools` being those of the scenario, the former without "all". A class called
/// "instances" cannot be named.
[[nodiscard]] std::optional<MetricMistake> metric_mistake(std::string_view path,
                                                          std::span<const std::string> classes,
                                                          std::span<const std::string> pools = {});

/// The key of a metric's path: all after the first point.
[[nodiscard]] std::string_view key_of(std::string_view path);
/// The class of a metric's path, or "instances", "pools" or "transfers".
[[nodiscard]] std::string_view scope_of(std::string_view path);

/// Whether the run has what the metric is about: the class, the pool, transfers.
[[nodiscard]] bool has_scope(const Summary& summary, std::string_view path);

/// The value of a metric; empty where there was nothing to measure. Over instances: the largest of
/// peaks, the sum of counts and of `down_s`, the mean of everything else (of the instances that
/// have a value). Throws InternalError for a path that names no metric of this summary.
[[nodiscard]] Figure metric(const Summary& summary, std::string_view path);

/// Whether more of a metric is better (+1: throughput, goodput, completed), less (-1: latencies,
/// failures, preemptions, replicas' time), or neither is known to be (0).
[[nodiscard]] int good_side(std::string_view metric);

/// The names of a scenario's classes, and of its pools.
[[nodiscard]] std::vector<std::string> class_names(const Scenario& scenario);
[[nodiscard]] std::vector<std::string> pool_names(const Scenario& scenario);

}  // namespace tokenline::report
