#include "sim/report/band.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

namespace tokenline::report {
namespace {

constexpr double knife_edge = 5.0;

constexpr std::array<std::string_view, 9> metrics{
    "output_throughput", "request_goodput", "mean_ttft_ms", "median_ttft_ms", "p99_ttft_ms",
    "mean_tpot_ms",      "p99_tpot_ms",     "mean_e2el_ms", "p99_e2el_ms"};

std::optional<double> value(const ClassSummary& summary, std::string_view metric) {
  const Figure* figure = summary.figures.find(metric);
  return figure == nullptr ? std::nullopt : figure->value;
}

/// (high − low) / nominal, absolute; empty where one is.
std::optional<double> spread(const BandRow& row) {
  if (!row.low || !row.nominal || !row.high || *row.nominal == 0.0) return {};
  return std::abs(*row.high - *row.low) / std::abs(*row.nominal);
}

}  // namespace

std::span<const std::string_view> band_metrics() { return metrics; }

ErrorBand error_band(const Summary& low, const Summary& nominal, const Summary& high) {
  ErrorBand band;
  band.price_spread = 2.0 * nominal.price_error_fraction.value_or(0.0);
  for (const ClassSummary& c : nominal.classes) {
    for (const std::string_view metric : metrics) {
      if (c.figures.find(metric) == nullptr) continue;
      BandRow row{.class_name = c.name,
                  .metric = std::string(metric),
                  .low = value(*low.find_class(c.name), metric),
                  .nominal = value(c, metric),
                  .high = value(*high.find_class(c.name), metric)};
      if (!row.nominal) continue;
      row.knife_edge = spread(row).value_or(0.0) > knife_edge * std::abs(band.price_spread);
      band.rows.push_back(std::move(row));
    }
  }
  return band;
}

std::string band_text(const ErrorBand& band) {
  std::string out = fmt::format(
      "\nBand of the calibration's error (prices lower and higher by {:.1f} %):\n"
      "{:<12} {:<20} {:>12} {:>12} {:>12}\n",
      50.0 * band.price_spread, "class", "metric", "low", "nominal", "high");
  bool edge = false;
  for (const BandRow& row : band.rows) {
    out += fmt::format("{:<12} {:<20} {:>12} {:>12} {:>12}{}\n", row.class_name, row.metric,
                       figure_text(row.low), figure_text(row.nominal), figure_text(row.high),
                       row.knife_edge ? "  knife edge" : "");
    edge = edge || row.knife_edge;
  }
  if (edge)
    out +=
        "warning: metrics on a knife's edge move more than five times as much as the prices: the\n"
        "service is close to saturation, and their nominal values are not predictions.\n";
  return out;
}

std::string band_json(const ErrorBand& band) {
  using Json = nlohmann::ordered_json;
  const auto number = [](const std::optional<double>& v) { return v ? Json(*v) : Json(); };
  Json rows = Json::array();
  for (const BandRow& row : band.rows)
    rows.push_back({{"class", row.class_name},
                    {"metric", row.metric},
                    {"low", number(row.low)},
                    {"nominal", number(row.nominal)},
                    {"high", number(row.high)},
                    {"knife_edge", row.knife_edge}});
  const Json root{{"price_spread", band.price_spread}, {"metrics", std::move(rows)}};
  return root.dump(2) + '\n';
}

}  // namespace tokenline::report
