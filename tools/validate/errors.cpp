#include "tools/validate/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>
#include <set>

#include "sim/base/check.hpp"
#include "sim/stats/summary.hpp"

namespace tokenline::validate {
namespace {

template <class Field>
std::vector<std::string> in_order(std::span<const Row> rows, Field field) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const Row& row : rows)
    if (seen.insert(row.*field).second) names.push_back(row.*field);
  return names;
}

}  // namespace

std::optional<double> relative_error(const Row& row) {
  if (!row.predicted) return std::nullopt;
  TOKENLINE_CHECK(row.measured > 0.0, "'{}' was measured as {}", row.label, row.measured);
  return (*row.predicted - row.measured) / row.measured;
}

Errors errors_of(std::span<const Row> rows, const std::string& metric, const std::string& group) {
  Errors errors;
  std::vector<double> absolute;
  double sum = 0.0;
  double signed_sum = 0.0;
  for (const Row& row : rows) {
    if (!metric.empty() && row.metric != metric) continue;
    if (!group.empty() && row.group != group) continue;
    const auto error = relative_error(row);
    if (!error) {
      ++errors.refused;
      continue;
    }
    absolute.push_back(std::abs(*error));
    sum += absolute.back();
    signed_sum += *error;
  }
  errors.rows = static_cast<std::int64_t>(absolute.size());
  if (absolute.empty()) return errors;
  const auto n = static_cast<double>(absolute.size());
  errors.mean_ape = sum / n;
  errors.bias = signed_sum / n;
  errors.median_ape = stats::percentile(absolute, 0.5);
  errors.p90_ape = stats::percentile(absolute, 0.9);
  return errors;
}

std::vector<std::string> metrics_of(std::span<const Row> rows) {
  return in_order(rows, &Row::metric);
}

std::vector<std::string> groups_of(std::span<const Row> rows) {
  return in_order(rows, &Row::group);
}

std::vector<Refusal> refusals_of(std::span<const Row> rows) {
  // A measurement has one row per metric: the metric that a reason keeps out most often counts.
  std::map<std::string, std::map<std::string, std::int64_t>> counts;
  for (const Row& row : rows)
    if (!row.predicted) ++counts[row.refused][row.metric];
  std::vector<Refusal> refusals;
  for (const auto& [reason, by_metric] : counts)
    refusals.push_back({reason, std::ranges::max(by_metric | std::views::values)});
  std::ranges::stable_sort(refusals, std::ranges::greater{}, &Refusal::count);
  return refusals;
}

std::vector<std::string> violations(const Comparison& comparison, double ceiling_pct) {
  std::vector<std::string> found;
  for (const std::string& metric : metrics_of(comparison.rows)) {
    const Errors errors = errors_of(comparison.rows, metric);
    if (!errors.mean_ape)
      found.push_back(fmt::format("{}: nothing was predicted", metric));
    else if (*errors.mean_ape * 100.0 > ceiling_pct)
      found.push_back(fmt::format("{}: mean error {:.4g} % exceeds {:.4g} %", metric,
                                  *errors.mean_ape * 100.0, ceiling_pct));
  }
  return found;
}

}  // namespace tokenline::validate
