#include <fmt/format.h>

#include "tools/sweep/figure_table.hpp"
#include "tools/sweep/merge.hpp"

namespace tokenline::sweep {
namespace {

/// A field as RFC 4180 has it.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string figure_cell(const report::Figures* figures, const FigureColumn& column) {
  const report::Figure* figure = figures == nullptr ? nullptr : figures->find(column.key);
  if (figure == nullptr || !figure->value) return {};
  if (figure->whole) return fmt::format("{}", static_cast<std::int64_t>(*figure->value));
  return fmt::format("{}", *figure->value);
}

}  // namespace

std::string results_csv(const Merged& merged) {
  const std::vector<AxisColumn> axes = axis_columns(merged.sweep);
  const std::vector<FigureTable> tables = figure_tables(merged);
  std::string text = "point";
  for (const AxisColumn& axis : axes) text += ',' + csv_field(axis.name);
  text += ",seed,asserts_failed,simulated_s";
  for (const FigureTable& table : tables)
    for (const FigureColumn& column : table.columns)
      text += ',' + csv_field(table.scope + '.' + column.key);
  text += ",config_sha256,point_sha256\n";
  for (std::size_t i = 0; i < merged.results.size(); ++i) {
    if (!merged.results[i]) continue;
    const PointResult& result = *merged.results[i];
    text += fmt::format("{}", i);
    for (std::size_t a = 0; a < axes.size(); ++a)
      text += ',' + csv_field(axes[a].cell(merged.sweep.points[i].values[a]));
    text += fmt::format(",{},{},{}", result.seed, asserts_failed(result), result.simulated_s);
    for (const FigureTable& table : tables)
      for (const FigureColumn& column : table.columns)
        text += ',' + figure_cell(figures_in(result, table.scope), column);
    text += fmt::format(",{},{}\n", result.config_sha256, result.sha256);
  }
  return text;
}

}  // namespace tokenline::sweep
