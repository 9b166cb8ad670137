#include "tools/validate/output.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/report/text_table.hpp"

namespace tokenline::validate {
namespace {

using Json = nlohmann::ordered_json;

std::string percent(const std::optional<double>& fraction) {
  if (!fraction) return "-";
  const std::string text = fmt::format("{:.2f}", *fraction * 100.0);
  return text == "-0.00" ? "0.00" : text;
}

std::vector<std::string> cells(const std::string& group, const std::string& metric,
                               const Errors& errors) {
  return {group,
          metric,
          fmt::format("{}", errors.rows),
          fmt::format("{}", errors.refused),
          percent(errors.median_ape),
          percent(errors.mean_ape),
          percent(errors.bias),
          percent(errors.p90_ape)};
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

/// Shortest text that reads back as the same double.
std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

Json optional_json(const std::optional<double>& value, double factor = 1.0) {
  return value ? Json(*value * factor) : Json(nullptr);
}

Json errors_json(const Errors& errors) {
  return {{"median_ape_pct", optional_json(errors.median_ape, 100.0)},
          {"mean_ape_pct", optional_json(errors.mean_ape, 100.0)},
          {"bias_pct", optional_json(errors.bias, 100.0)},
          {"p90_ape_pct", optional_json(errors.p90_ape, 100.0)},
          {"rows", errors.rows},
          {"refused", errors.refused}};
}

Json row_json(const Row& row) {
  return {{"group", row.group},
          {"metric", row.metric},
          {"unit", row.unit},
          {"label", row.label},
          {"measured", row.measured},
          {"predicted", optional_json(row.predicted)},
          {"error_pct", optional_json(relative_error(row), 100.0)},
          {"refused", row.predicted ? Json(nullptr) : Json(row.refused)}};
}

}  // namespace

std::string text(const Comparison& comparison, std::span<const std::string> violations) {
  const auto metrics = metrics_of(comparison.rows);
  report::TextTable table(2);
  table.row({"group", "metric", "rows", "refused", "median %", "mean %", "bias %", "P90 %"});
  for (const std::string& group : groups_of(comparison.rows))
    for (const std::string& metric : metrics) {
      const Errors errors = errors_of(comparison.rows, metric, group);
      if (errors.rows > 0) table.row(cells(group, metric, errors));
    }
  for (const std::string& metric : metrics)
    table.row(cells("overall", metric, errors_of(comparison.rows, metric)));
  std::string out = comparison.title + "\n\nErrors of the prediction, in % of the measured value\n";
  out += table.text();
  const auto refusals = refusals_of(comparison.rows);
  if (!refusals.empty()) {
    out += "\nRefused\n";
    for (const auto& [reason, count] : refusals) out += fmt::format("{:>6}  {}\n", count, reason);
  }
  if (!comparison.figures.empty()) out += '\n';
  for (const auto& [name, value] : comparison.figures)
    out += fmt::format("{} {:.4g}\n", name, value);
  if (!violations.empty()) out += '\n';
  for (const std::string& violation : violations) out += fmt::format("failed: {}\n", violation);
  return out + '\n' + overall_lines(comparison);
}

std::string overall_lines(const Comparison& comparison, const std::string& check) {
  const auto metrics = metrics_of(comparison.rows);
  const auto name = [&](const std::string& metric) {
    if (!check.empty()) return fmt::format("metric={}.{} ", check, metric);
    return metrics.size() == 1 ? std::string() : fmt::format("metric={} ", metric);
  };
  std::string out;
  for (const std::string& metric : metrics) {
    const Errors errors = errors_of(comparison.rows, metric);
    out += fmt::format(
        "overall {}median_ape_pct={} mean_ape_pct={} bias_pct={} p90_ape_pct={} rows={} "
        "refused={}\n",
        name(metric), percent(errors.median_ape), percent(errors.mean_ape), percent(errors.bias),
        percent(errors.p90_ape), errors.rows, errors.refused);
  }
  return out;
}

std::string csv(const Comparison& comparison) {
  std::string out = "group,metric,unit,label,measured,predicted,error_pct,refused\n";
  for (const Row& row : comparison.rows) {
    auto error = relative_error(row);
    if (error) *error *= 100.0;
    out += fmt::format("{},{},{},{},{},{},{},{}\n", quoted(row.group), quoted(row.metric),
                       quoted(row.unit), quoted(row.label), number(row.measured),
                       number(row.predicted), number(error), quoted(row.refused));
  }
  return out;
}

std::string json(const Comparison& comparison) {
  Json root;
  root["title"] = comparison.title;
  root["overall"] = Json::object();
  for (const std::string& metric : metrics_of(comparison.rows))
    root["overall"][metric] = errors_json(errors_of(comparison.rows, metric));
  root["groups"] = Json::array();
  for (const std::string& group : groups_of(comparison.rows))
    for (const std::string& metric : metrics_of(comparison.rows)) {
      Json entry{{"group", group}, {"metric", metric}};
      entry.update(errors_json(errors_of(comparison.rows, metric, group)));
      root["groups"].push_back(entry);
    }
  root["refusals"] = Json::array();
  for (const auto& [reason, count] : refusals_of(comparison.rows))
    root["refusals"].push_back({{"reason", reason}, {"count", count}});
  root["figures"] = Json::object();
  for (const auto& [name, value] : comparison.figures) root["figures"][name] = value;
  root["rows"] = Json::array();
  for (const Row& row : comparison.rows) root["rows"].push_back(row_json(row));
  // The name of a file need not be UTF-8.
  return root.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace tokenline::validate
