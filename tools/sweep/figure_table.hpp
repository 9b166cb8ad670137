#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/sweep/columns.hpp"
#include "tools/sweep/merge.hpp"

namespace tokenline::sweep {

/// A figure over all results.
struct FigureColumn {
  std::string key;
  bool whole = true;  ///< In every result that has a value.
};

/// The figures of one scope: those that any result has, in the order in which they appear.
struct FigureTable {
  std::string scope;
  std::vector<FigureColumn> columns;
};

/// A table for each scope that any result has.
[[nodiscard]] std::vector<FigureTable> figure_tables(const Merged& merged);

/// The figures of a scope of one result, or null.
[[nodiscard]] const report::Figures* figures_in(const PointResult& result, std::string_view scope);

[[nodiscard]] std::int64_t asserts_failed(const PointResult& result);

[[nodiscard]] std::vector<AxisColumn> axis_columns(const Sweep& sweep);

}  // namespace tokenline::sweep
