#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tokenline::calib {

/// A column that a file may have, and the value that a row must have there to be read.
struct Filter {
  std::string_view column;
  std::string_view value;
};

/// Rows of positive numbers, in the order of the columns asked for.
using Rows = std::vector<std::vector<double>>;

/// Reads the columns named from a CSV file with a header line, without quoting. Columns not asked
/// for are ignored; rows that a filter excludes are skipped. Throws config::ConfigError with every
/// mistake at its line: a missing column, a field too few or too many, a value that is not a
/// positive number, no row left.
[[nodiscard]] Rows read_table(const std::string& path, const std::vector<std::string_view>& columns,
                              const std::vector<Filter>& filters = {});

}  // namespace tokenline::calib
