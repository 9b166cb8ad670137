#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/quantity.hpp"

namespace tokenline::calib {

/// A column of words, and what its rows say where a file lacks it; a column without a fallback is
/// required.
struct TextColumn {
  std::string_view name;
  const char* fallback = nullptr;
};

/// Rows of positive numbers and of words, in the order of the columns asked for.
struct Table {
  std::vector<std::vector<double>> numbers;
  std::vector<std::vector<std::string>> texts;

  [[nodiscard]] std::size_t size() const { return numbers.size(); }
};

/// A number of a table as a count, and as a time that the table states in microseconds.
[[nodiscard]] std::int64_t whole(double value);
[[nodiscard]] Seconds microseconds(double value);

/// Numbers that may be zero: a column named with this suffix in read_table() ("past?").
inline constexpr char zero_allowed = '?';

/// Reads the columns named from a CSV file with a header line, without quoting. Columns not asked
/// for are ignored. Throws config::ConfigError with every mistake at its line: a missing column, a
/// field too few or too many, a value that is not a positive number, no row.
[[nodiscard]] Table read_table(const std::string& path,
                               const std::vector<std::string_view>& numbers,
                               const std::vector<TextColumn>& texts = {});

}  // namespace tokenline::calib
