#include "tools/sweep/figure_table.hpp"

#include <algorithm>

namespace tokenline::sweep {
namespace {

void add_figures(FigureTable& table, const report::Figures& figures) {
  for (const report::Figure& figure : figures.all()) {
    auto column = std::ranges::find(table.columns, figure.key, &FigureColumn::key);
    if (column == table.columns.end())
      column = table.columns.insert(column, {.key = figure.key, .whole = true});
    if (!figure.whole) column->whole = false;
  }
}

}  // namespace

std::vector<FigureTable> figure_tables(const Merged& merged) {
  std::vector<FigureTable> tables;
  for (const auto& result : merged.results) {
    if (!result) continue;
    for (const ScopeFigures& scope : result->figures) {
      auto table = std::ranges::find(tables, scope.scope, &FigureTable::scope);
      if (table == tables.end())
        table = tables.insert(table, {.scope = scope.scope, .columns = {}});
      add_figures(*table, scope.figures);
    }
  }
  return tables;
}

const report::Figures* figures_in(const PointResult& result, std::string_view scope) {
  const auto found = std::ranges::find(result.figures, scope, &ScopeFigures::scope);
  return found == result.figures.end() ? nullptr : &found->figures;
}

std::int64_t asserts_failed(const PointResult& result) {
  return std::ranges::count_if(result.asserts, [](const auto& verdict) { return !verdict.second; });
}

std::vector<AxisColumn> axis_columns(const Sweep& sweep) {
  std::vector<AxisColumn> columns;
  for (std::size_t i = 0; i < sweep.axes.size(); ++i) columns.push_back(axis_column(sweep, i));
  return columns;
}

}  // namespace tokenline::sweep
