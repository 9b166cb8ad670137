#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/config/node.hpp"
#include "sim/report/summary.hpp"

namespace tokenline::report {

/// How far a metric may be from its baseline.
struct Tolerance {
  /// A path, "chat.p99_ttft_ms"; a key, "p99_ttft_ms", of every class; empty: every metric.
  std::string metric;
  double amount = 0.0;   ///< A fraction of the baseline's value, or
  bool relative = true;  ///< an amount in the metric's own unit.
};

/// Reads `5%`, `p99_ttft=10%`, `p99_ttft(chat)=20 ms`, `all.failed=3`: metrics as in a condition,
/// but that a key without a class is that of every class. Throws ConfigError at "--tolerance
/// <text>".
[[nodiscard]] Tolerance read_tolerance(const Scenario& scenario, const std::string& text);

/// The summary.json of an earlier run.
struct Baseline {
  std::string file;
  std::string version;  ///< Of the tokenline that wrote it.
  std::string scenario;
  std::string seed;
  std::string config_sha256;
  config::Node json;
};

/// Reads a summary.json, or the one in a run directory. Throws ConfigError for anything else.
[[nodiscard]] Baseline load_baseline(const std::string& path);

/// A metric beside its baseline.
struct MetricChange {
  enum class Verdict { within, better, worse, missing };

  std::string metric;
  std::optional<double> before;  ///< Of the baseline.
  std::optional<double> now;
  Tolerance tolerance;
  Verdict verdict = Verdict::within;
};

/// A run held against a baseline.
struct BaselineComparison {
  std::string file;
  /// What else differs, a sentence each: scenario, seed, configuration, version, requests offered.
  std::vector<std::string> differences;
  std::vector<MetricChange> metrics;
  bool better_fails = false;

  [[nodiscard]] bool fails(const MetricChange& change) const;
  [[nodiscard]] bool passed() const;
};

/// Holds every metric of a class that is better high or low, and every one that a tolerance names
/// by its path, against the baseline. The most particular tolerance counts, of equals the last;
/// without any it is 0. A metric that has no good side is worse on either. One without a value on
/// exactly one side is missing, as is one of a class that only one side has.
[[nodiscard]] BaselineComparison compare_to_baseline(const Baseline& baseline,
                                                     const Summary& summary,
                                                     std::span<const Tolerance> tolerances);

/// How many metrics moved, what else differs, and a table of those beyond their tolerance.
[[nodiscard]] std::string baseline_text(const BaselineComparison& comparison);

/// "150.2 ms, 24.9 % more than the baseline's 120.3 ms (5 % are allowed)".
[[nodiscard]] std::string change_text(const MetricChange& change);

}  // namespace tokenline::report
