#include <algorithm>
#include <array>

#include "sim/config/numbers.hpp"
#include "sim/report/version.hpp"
#include "tools/sweep/figure_table.hpp"
#include "tools/sweep/merge.hpp"
#include "tools/sweep/sqlite_file.hpp"

namespace tokenline::sweep {
namespace {

constexpr std::string_view pool_prefix = "pools.";

/// Scopes that share a table of the database, told apart by a column of names.
struct ScopeGroup {
  std::string table;
  std::string name_column;  ///< "class", "pool"; empty where there is one scope.
  std::vector<std::string> scopes;
  std::vector<FigureColumn> columns;
};

/// The group of a scope, without scopes and columns.
ScopeGroup group_of(const std::string& scope) {
  if (scope.starts_with(pool_prefix)) return {"pools", "pool", {}, {}};
  for (const char* alone : {"instances", "transfers", "fleet"})
    if (scope == alone) return {scope, {}, {}, {}};
  return {"classes", "class", {}, {}};
}

std::vector<ScopeGroup> scope_groups(const std::vector<FigureTable>& tables) {
  std::vector<ScopeGroup> groups;
  for (const FigureTable& table : tables) {
    ScopeGroup fresh = group_of(table.scope);
    auto group = std::ranges::find(groups, fresh.table, &ScopeGroup::table);
    if (group == groups.end()) group = groups.insert(group, std::move(fresh));
    group->scopes.push_back(table.scope);
    for (const FigureColumn& column : table.columns) {
      const auto known = std::ranges::find(group->columns, column.key, &FigureColumn::key);
      if (known == group->columns.end())
        group->columns.push_back(column);
      else
        known->whole = known->whole && column.whole;
    }
  }
  return groups;
}

const char* sql_type(AxisColumn::Type type) {
  switch (type) {
    case AxisColumn::Type::integer:
      return "INTEGER";
    case AxisColumn::Type::real:
      return "REAL";
    case AxisColumn::Type::text:
      break;
  }
  return "TEXT";
}

SqlValue axis_value(const AxisColumn& column, const std::string& value) {
  const std::string cell = column.cell(value);
  if (column.type == AxisColumn::Type::integer) return config::parse_integer(cell).value;
  if (column.type == AxisColumn::Type::real) return config::parse_real(cell).value;
  return cell;
}

SqlValue figure_value(const report::Figures& figures, const FigureColumn& column) {
  const report::Figure* figure = figures.find(column.key);
  if (figure == nullptr || !figure->value) return {};
  if (column.whole) return static_cast<std::int64_t>(*figure->value);
  return *figure->value;
}

void write_sweep_table(SqliteFile& file, const Sweep& sweep) {
  const std::vector<SqlColumn> columns{
      {"name", "TEXT"}, {"description", "TEXT"}, {"tokenline", "TEXT"}, {"points", "INTEGER"}};
  file.create("sweep", columns);
  const std::vector<SqlValue> row{sweep.name, sweep.description, std::string(report::version()),
                                  static_cast<std::int64_t>(sweep.points.size())};
  file.insert("sweep", row);
}

void write_points_table(SqliteFile& file, const Merged& merged) {
  const std::vector<AxisColumn> axes = axis_columns(merged.sweep);
  std::vector<SqlColumn> columns{{"point", "INTEGER PRIMARY KEY"}};
  for (const AxisColumn& axis : axes) columns.push_back({axis.name, sql_type(axis.type)});
  for (const SqlColumn& column : std::initializer_list<SqlColumn>{{"seed", "INTEGER"},
                                                                  {"asserts_failed", "INTEGER"},
                                                                  {"simulated_s", "REAL"},
                                                                  {"config_sha256", "TEXT"},
                                                                  {"point_sha256", "TEXT"}})
    columns.push_back(column);
  file.create("points", columns);
  for (std::size_t i = 0; i < merged.results.size(); ++i) {
    if (!merged.results[i]) continue;
    const PointResult& result = *merged.results[i];
    std::vector<SqlValue> row{static_cast<std::int64_t>(i)};
    for (std::size_t a = 0; a < axes.size(); ++a)
      row.push_back(axis_value(axes[a], merged.sweep.points[i].values[a]));
    row.insert(row.end(), {static_cast<std::int64_t>(result.seed), asserts_failed(result),
                           result.simulated_s, result.config_sha256, result.sha256});
    file.insert("points", row);
  }
}

void write_group(SqliteFile& file, const Merged& merged, const ScopeGroup& group) {
  const bool named = !group.name_column.empty();
  std::vector<SqlColumn> columns{{"point", "INTEGER REFERENCES points"}};
  if (named) columns.push_back({group.name_column, "TEXT"});
  for (const FigureColumn& column : group.columns)
    columns.push_back({column.key, column.whole ? "INTEGER" : "REAL"});
  file.create(group.table, columns,
              named ? "PRIMARY KEY (point, \"" + group.name_column + "\")" : "PRIMARY KEY (point)");
  for (std::size_t i = 0; i < merged.results.size(); ++i) {
    if (!merged.results[i]) continue;
    for (const std::string& scope : group.scopes) {
      const report::Figures* figures = figures_in(*merged.results[i], scope);
      if (figures == nullptr) continue;
      std::vector<SqlValue> row{static_cast<std::int64_t>(i)};
      const bool pool = scope.starts_with(pool_prefix);
      if (named) row.emplace_back(pool ? scope.substr(pool_prefix.size()) : scope);
      for (const FigureColumn& column : group.columns)
        row.push_back(figure_value(*figures, column));
      file.insert(group.table, row);
    }
  }
}

}  // namespace

void write_sqlite(const Merged& merged, const std::string& path) {
  SqliteFile file(path);
  write_sweep_table(file, merged.sweep);
  write_points_table(file, merged);
  for (const ScopeGroup& group : scope_groups(figure_tables(merged)))
    write_group(file, merged, group);
  file.finish();
}

}  // namespace tokenline::sweep
