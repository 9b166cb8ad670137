#include "sim/report/band.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

namespace tokenline::report {
namespace {

constexpr double knife_edge = 5.0;
constexpr double mostly = 0.5;

constexpr std::array<std::string_view, 9> widened_metrics{
    "output_throughput", "request_goodput", "mean_ttft_ms", "median_ttft_ms", "p99_ttft_ms",
    "mean_tpot_ms",      "p99_tpot_ms",     "mean_e2el_ms", "p99_e2el_ms"};

std::optional<double> value(const ClassSummary& summary, std::string_view metric) {
  const Figure* figure = summary.figures.find(metric);
  return figure == nullptr ? std::nullopt : figure->value;
}

/// Whether a metric moves more than `most`, relative to its nominal value, to either side.
bool on_edge(const BandRow& row, bool missing, double most) {
  if (missing || !row.nominal) return true;
  const double move = std::max(*row.high - *row.nominal, *row.nominal - *row.low);
  return *row.nominal == 0.0 ? move > 0.0 : move > most * std::abs(*row.nominal);
}

/// A metric over the three runs; nothing where none of them has it.
std::optional<BandRow> row_of(const std::string& class_name, std::string_view metric,
                              const std::array<const Summary*, 3>& runs, double most) {
  std::array<std::optional<double>, 3> values;
  for (std::size_t i = 0; i < runs.size(); ++i)
    values[i] = value(*runs[i]->find_class(class_name), metric);
  BandRow row{.class_name = class_name,
              .metric = std::string(metric),
              .low = {},
              .nominal = values[1],
              .high = {}};
  bool missing = false;
  for (const auto& one : values) {
    missing = missing || !one;
    if (!one) continue;
    row.low = std::min(row.low.value_or(*one), *one);
    row.high = std::max(row.high.value_or(*one), *one);
  }
  if (!row.low || (*row.low == 0.0 && *row.high == 0.0)) return {};
  row.knife_edge = on_edge(row, missing, most);
  return row;
}

/// ErrorBand::queued of one run.
double queued_share(const Summary& summary) {
  constexpr std::array queues{Part::wait_sequence_slot, Part::wait_kv_blocks,
                              Part::wait_token_budget, Part::preempted};
  double share = 0.0;
  for (const Share& part : largest_parts(summary.find_class("all")->ttft.mean_ms))
    if (std::ranges::find(queues, part.part) != queues.end()) share += part.fraction;
  return share;
}

bool counts_targets(const BandRow& row) { return row.metric == "request_goodput"; }

/// What metrics on a knife's edge mean.
std::string warning(const ErrorBand& band) {
  const auto edge = [&](bool targets) {
    return std::ranges::any_of(band.rows, [&](const BandRow& row) {
      return row.knife_edge && counts_targets(row) == targets;
    });
  };
  if (!edge(true) && !edge(false)) return "";
  std::string out =
      "warning: metrics on a knife's edge move more than five times as much as the prices: their\n"
      "nominal values are not predictions.\n";
  if (edge(true))
    out += "- request_goodput: latencies of many requests lie close to a target of `slo:`.\n";
  if (!edge(false)) return out;
  const std::string share = fmt::format(
      "{:.0f} % of the mean TTFT is waiting for a slot,\n  KV blocks or tokens of a step",
      100.0 * band.queued);
  if (band.queued >= mostly)
    return out + fmt::format("- latency and throughput: close to saturation, {}.\n", share);
  return out +
         fmt::format(
             "- latency and throughput: not saturation, {}; something\n  happens in one run and "
             "not in another.\n",
             share);
}

}  // namespace

std::span<const std::string_view> band_metrics() { return widened_metrics; }

ErrorBand error_band(const Summary& low, const Summary& nominal, const Summary& high) {
  const double error = nominal.price_error_fraction.value_or(0.0);
  ErrorBand band{.prices_lower = std::min(1.0, error),
                 .prices_higher = error,
                 .queued = std::max({queued_share(low), queued_share(nominal), queued_share(high)}),
                 .rows = {}};
  for (const ClassSummary& c : nominal.classes)
    for (const std::string_view metric : widened_metrics)
      if (auto row = row_of(c.name, metric, {&low, &nominal, &high}, knife_edge * error))
        band.rows.push_back(std::move(*row));
  return band;
}

std::string band_text(const ErrorBand& band) {
  std::string out = fmt::format(
      "\nBand of the calibration's error: prices {:.1f} % lower and {:.1f} % higher{}\n",
      100.0 * band.prices_lower, 100.0 * band.prices_higher,
      band.prices_lower < band.prices_higher ? " (none falls below 0)" : "");
  if (band.rows.empty())
    return out + "No request completes in any of the three runs: there is nothing to compare.\n";
  out +=
      fmt::format("Smallest and largest of the three runs:\n{:<12} {:<20} {:>12} {:>12} {:>12}\n",
                  "class", "metric", "low", "nominal", "high");
  for (const BandRow& row : band.rows)
    out += fmt::format("{:<12} {:<20} {:>12} {:>12} {:>12}{}\n", row.class_name, row.metric,
                       figure_text(row.low), figure_text(row.nominal), figure_text(row.high),
                       row.knife_edge ? "  knife edge" : "");
  return out + warning(band);
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
  const Json root{{"prices_lower_fraction", band.prices_lower},
                  {"prices_higher_fraction", band.prices_higher},
                  {"metrics", std::move(rows)}};
  return root.dump(2) + '\n';
}

}  // namespace tokenline::report
