#include "sim/report/baseline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <utility>

#include "sim/config/node.hpp"
#include "sim/config/numbers.hpp"
#include "sim/report/assertions.hpp"
#include "sim/report/metric.hpp"
#include "sim/report/pool_summary.hpp"
#include "sim/report/run_directory.hpp"
#include "sim/report/text_table.hpp"
#include "sim/report/version.hpp"

namespace tokenline::report {
namespace {

using config::Node;

bool is_path(std::string_view metric) { return metric.find('.') != std::string_view::npos; }

/// Whose text names a metric that is not there.
[[noreturn]] void refuse_tolerance(const std::string& text, std::string message, std::string hint) {
  throw config::ConfigError(
      config::Diagnostic{{"--tolerance " + text, 1, 1}, {}, std::move(message), std::move(hint)});
}

/// The metric of a tolerance: a path, or the key of every class.
std::string tolerated(const Scenario& scenario, const std::string& text, std::string_view metric) {
  const auto classes = class_names(scenario);
  const auto pools = pool_names(scenario);
  const std::string path = metric_path(metric, classes, pools);
  if (const auto mistake = metric_mistake(path, classes, pools))
    refuse_tolerance(text, mistake->message, mistake->hint);
  const bool whole = metric.find_first_of(".(") != std::string_view::npos;
  return whole ? path : std::string(key_of(path));
}

const Node* json_child(const Node* node, std::string_view key) {
  return node == nullptr || node->kind != Node::Kind::mapping ? nullptr : node->find(key);
}

std::optional<double> json_number(const Node* node) {
  if (node == nullptr || node->kind != Node::Kind::scalar || node->quoted) return std::nullopt;
  const auto parsed = config::parse_real(node->scalar);
  return parsed.ok() ? std::optional(parsed.value) : std::nullopt;
}

std::string json_text(const Node& json, std::string_view key) {
  const Node* node = json.find(key);
  return node == nullptr ? std::string() : node->scalar;
}

/// The replicas of a summary.json, to be rolled up as those of a run are.
std::optional<double> over_replicas(const Node* list, std::string_view key) {
  if (list == nullptr || list->kind != Node::Kind::sequence) return std::nullopt;
  std::vector<InstanceSummary> all;
  for (const Node& item : list->items) {
    InstanceSummary replica;
    replica.figures.amount(std::string(key), json_number(json_child(&item, key)));
    all.push_back(std::move(replica));
  }
  std::vector<const InstanceSummary*> pointers;
  for (const InstanceSummary& replica : all) pointers.push_back(&replica);
  return all.empty() ? std::nullopt : over_instances(pointers, key).value;
}

/// A metric of a summary.json by its path, as metric() finds it in a Summary.
std::optional<double> metric_of(const Node& json, std::string_view path) {
  const std::string_view scope = scope_of(path);
  const Node* of_class = json_child(json_child(&json, "classes"), scope);
  if (scope == "instances") return over_replicas(json_child(&json, "instances"), key_of(path));
  if (scope == "pools" && of_class == nullptr) {
    const std::string_view pool = scope_of(key_of(path));
    return json_number(
        json_child(json_child(json_child(&json, "pools"), pool), key_of(key_of(path))));
  }
  if (of_class == nullptr) return json_number(json_child(json_child(&json, scope), key_of(path)));
  return json_number(json_child(of_class, key_of(path)));
}

/// Of the tolerances that fit a metric the last of the most particular: path, key, all.
Tolerance tolerance_for(std::string_view metric, std::span<const Tolerance> tolerances) {
  Tolerance chosen;
  int rank = -1;
  for (const Tolerance& t : tolerances) {
    const int particular = is_path(t.metric) ? 2 : (t.metric.empty() ? 0 : 1);
    const bool fits = t.metric.empty() || t.metric == metric || t.metric == key_of(metric);
    if (!fits || particular < rank) continue;
    chosen = t;
    rank = particular;
  }
  return chosen;
}

MetricChange::Verdict verdict_on(const MetricChange& change) {
  using Verdict = MetricChange::Verdict;
  if (!change.before && !change.now) return Verdict::within;
  if (!change.before || !change.now) return Verdict::missing;
  const double allowed = change.tolerance.relative
                             ? change.tolerance.amount * std::abs(*change.before)
                             : change.tolerance.amount;
  const double moved = *change.now - *change.before;
  if (std::abs(moved) <= allowed) return Verdict::within;
  return moved * good_side(change.metric) > 0.0 ? Verdict::better : Verdict::worse;
}

/// The metrics that are held against each other: those of a class with a good side, on either side
/// of the comparison, and those that a tolerance names by its path.
std::vector<std::string> compared_metrics(const Node& json, const Summary& summary,
                                          std::span<const Tolerance> tolerances) {
  std::vector<std::string> paths;
  const auto add = [&](const std::string& path, bool named) {
    const bool wanted =
        named || good_side(path) != 0 ||
        std::ranges::find(tolerances, key_of(path), &Tolerance::metric) != tolerances.end();
    if (wanted && std::ranges::find(paths, path) == paths.end()) paths.push_back(path);
  };
  for (const ClassSummary& c : summary.classes)
    for (const Figure& figure : c.figures.all()) add(c.name + '.' + figure.key, false);
  if (const Node* classes = json_child(&json, "classes"))
    for (const auto& [name, where, figures] : classes->entries)
      for (const auto& entry : figures.entries) add(name + '.' + entry.key, false);
  for (const Tolerance& t : tolerances)
    if (is_path(t.metric)) add(t.metric, true);
  return paths;
}

/// A metric of a run; empty where the run has nothing of that name.
std::optional<double> value_now(const Summary& summary, const std::string& path) {
  if (!has_scope(summary, path)) return std::nullopt;
  const ClassSummary* of_class = summary.find_class(scope_of(path));
  if (of_class == nullptr) return metric(summary, path).value;
  const Figure* figure = of_class->figures.find(key_of(path));
  return figure == nullptr ? std::nullopt : figure->value;
}

std::vector<std::string> other_differences(const Baseline& baseline, const Summary& summary) {
  std::vector<std::string> sentences;
  const auto differ = [&](std::string_view what, const std::string& before,
                          const std::string& now) {
    if (before != now) sentences.push_back(fmt::format("{} {}, now {}", what, before, now));
  };
  differ("scenario", baseline.scenario, summary.scenario);
  differ("seed", baseline.seed, std::to_string(summary.seed));
  differ("tokenline", baseline.version, std::string(version()));
  differ("config_sha256", baseline.config_sha256.substr(0, 12),
         summary.config_sha256.substr(0, 12));
  for (const ClassSummary& c : summary.classes) {
    const auto before = metric_of(baseline.json, c.name + ".offered");
    const auto now = value_now(summary, c.name + ".offered");
    if (before && now)
      differ(c.name + ".offered", figure_text(before, true), figure_text(now, true));
  }
  return sentences;
}

std::string metric_amount(std::optional<double> value, std::string_view metric) {
  if (!value) return "no value";
  const std::string_view unit = unit_of(metric);
  const bool whole = *value == std::floor(*value) && std::abs(*value) < 1e15;
  return figure_text(value, whole) + (unit.empty() ? "" : ' ' + std::string(unit));
}

std::string tolerance_text(const MetricChange& change) {
  return change.tolerance.relative ? fmt::format("{:.4g} %", 100.0 * change.tolerance.amount)
                                   : metric_amount(change.tolerance.amount, change.metric);
}

/// "+24.9 %"; the difference itself where the baseline is zero.
std::string moved_text(const MetricChange& change) {
  if (!change.before || !change.now) return "-";
  const double moved = *change.now - *change.before;
  if (*change.before == 0.0) return (moved > 0.0 ? "+" : "") + metric_amount(moved, change.metric);
  return fmt::format("{:+.3g} %", 100.0 * moved / std::abs(*change.before));
}

std::string_view verdict_word(MetricChange::Verdict verdict) {
  constexpr std::array<std::string_view, 4> words{"within", "better", "worse", "missing"};
  return words.at(static_cast<std::size_t>(verdict));
}

}  // namespace

Tolerance read_tolerance(const Scenario& scenario, const std::string& text) {
  const std::string_view whole = text;
  const auto equals = whole.rfind('=');
  Tolerance tolerance;
  std::string_view amount = trimmed(whole);
  if (equals != std::string_view::npos) {
    tolerance.metric = tolerated(scenario, text, trimmed(whole.substr(0, equals)));
    amount = trimmed(whole.substr(equals + 1));
  }
  tolerance.relative = amount.ends_with('%');
  std::optional<double> value;
  if (tolerance.relative) {
    const auto percent = config::parse_real(trimmed(amount.substr(0, amount.size() - 1)));
    if (percent.ok()) value = percent.value / 100.0;
  } else if (!tolerance.metric.empty()) {
    value = amount_of(amount, tolerance.metric);
  }
  if (!value || *value < 0.0)
    refuse_tolerance(text, fmt::format("'{}' is no tolerance", amount),
                     "a share for all metrics, '5%', or of one a share or an amount in its own "
                     "unit: p99_ttft=10%, 'p99_ttft(chat)=20 ms', all.failed=3");
  tolerance.amount = *value;
  return tolerance;
}

Baseline load_baseline(const std::string& path) {
  const bool directory = std::filesystem::is_directory(path);
  Baseline baseline{.file = directory ? (std::filesystem::path(path) / run_marker).string() : path,
                    .version = {},
                    .scenario = {},
                    .seed = {},
                    .config_sha256 = {},
                    .json = {}};
  baseline.json = config::load_yaml(baseline.file);
  const Node* classes = json_child(&baseline.json, "classes");
  if (json_child(&baseline.json, "tokenline") == nullptr || classes == nullptr ||
      classes->kind != Node::Kind::mapping)
    throw config::ConfigError(config::Diagnostic{
        {baseline.file, 1, 1},
        {},
        "not the summary of a run",
        "a baseline is the summary.json, or the directory, of `tokenline run … --out`"});
  baseline.version = json_text(baseline.json, "tokenline");
  baseline.scenario = json_text(baseline.json, "scenario");
  baseline.seed = json_text(baseline.json, "seed");
  baseline.config_sha256 = json_text(baseline.json, "config_sha256");
  return baseline;
}

bool BaselineComparison::fails(const MetricChange& change) const {
  using Verdict = MetricChange::Verdict;
  return change.verdict == Verdict::worse || change.verdict == Verdict::missing ||
         (better_fails && change.verdict == Verdict::better);
}

bool BaselineComparison::passed() const {
  return std::ranges::none_of(metrics, [&](const MetricChange& c) { return fails(c); });
}

BaselineComparison compare_to_baseline(const Baseline& baseline, const Summary& summary,
                                       std::span<const Tolerance> tolerances) {
  BaselineComparison comparison{
      .file = baseline.file, .differences = other_differences(baseline, summary), .metrics = {}};
  for (const std::string& path : compared_metrics(baseline.json, summary, tolerances)) {
    MetricChange change{.metric = path,
                        .before = metric_of(baseline.json, path),
                        .now = value_now(summary, path),
                        .tolerance = tolerance_for(path, tolerances)};
    change.verdict = verdict_on(change);
    comparison.metrics.push_back(std::move(change));
  }
  return comparison;
}

std::string change_text(const MetricChange& change) {
  if (change.verdict == MetricChange::Verdict::missing)
    return fmt::format("{} here, {} in the baseline", metric_amount(change.now, change.metric),
                       metric_amount(change.before, change.metric));
  return fmt::format("{}, {} against {} in the baseline ({} are allowed)",
                     metric_amount(change.now, change.metric), moved_text(change),
                     metric_amount(change.before, change.metric), tolerance_text(change));
}

std::string baseline_text(const BaselineComparison& comparison) {
  using Verdict = MetricChange::Verdict;
  const auto count = [&](Verdict verdict) {
    return std::ranges::count(comparison.metrics, verdict, &MetricChange::verdict);
  };
  std::string out = fmt::format("baseline {}: of {} metrics {} worse, {} missing, {} better\n",
                                comparison.file, comparison.metrics.size(), count(Verdict::worse),
                                count(Verdict::missing), count(Verdict::better));
  for (const std::string& sentence : comparison.differences)
    out += fmt::format("  not the same: {}\n", sentence);
  TextTable table(1);
  table.row({"  metric", "baseline", "now", "change", "allowed", "verdict"});
  bool any = false;
  for (const MetricChange& change : comparison.metrics) {
    if (change.verdict == Verdict::within) continue;
    any = true;
    table.row({"  " + change.metric, metric_amount(change.before, change.metric),
               metric_amount(change.now, change.metric), moved_text(change), tolerance_text(change),
               std::string(verdict_word(change.verdict))});
  }
  return any ? out + table.text() : out;
}

}  // namespace tokenline::report
