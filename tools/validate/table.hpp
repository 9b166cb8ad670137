#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/diagnostic.hpp"

namespace tokenline::validate {

class Table;

/// One line of a Table. The getters record a mistake at the field and return a value that stands
/// in for it; Table::finish() throws before anyone uses it. A column that the header lacks is
/// reported once, when the table is opened.
class TableRow {
 public:
  [[nodiscard]] int line() const { return line_; }
  /// The text of a column, perhaps empty; empty where the file has no such column.
  [[nodiscard]] std::string text(std::string_view column) const;
  /// A text that must not be empty.
  [[nodiscard]] std::string word(std::string_view column) const;
  /// A whole number of at least `min` and at most 10^9.
  [[nodiscard]] std::int64_t integer(std::string_view column, std::int64_t min = 1) const;
  /// A finite number of at least 0, and one above 0.
  [[nodiscard]] double real(std::string_view column) const;
  [[nodiscard]] double positive(std::string_view column) const;
  /// A mistake at a column of this line.
  void error(std::string_view column, std::string message, std::string hint = {}) const;

 private:
  friend class Table;
  Table* table_ = nullptr;
  int line_ = 0;
  std::string_view whole_;
  std::vector<std::string_view> fields_;
};

/// A CSV file with a header line, read at once; a field may be quoted to hold commas, and the
/// mistakes found in it: all are gathered, the first 20 are reported, then "and N more".
class Table {
 public:
  /// Throws ConfigError for a file that cannot be read or is not UTF-8. `columns` must be there.
  Table(std::string file, const std::vector<std::string_view>& columns);
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  /// The lines after the header; empty when a column is missing.
  [[nodiscard]] const std::vector<TableRow>& rows() const { return rows_; }
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] bool has(std::string_view column) const { return index_of(column).has_value(); }
  /// Throws ConfigError with every mistake; also for a file without rows. Call after reading.
  void finish();

 private:
  friend class TableRow;
  [[nodiscard]] std::optional<std::size_t> index_of(std::string_view column) const;
  void error(int line, int column, std::string_view path, std::string message,
             std::string hint = {});
  void read_lines(std::string_view rest);

  std::string file_;
  std::string text_;
  std::vector<std::string_view> header_;
  std::vector<TableRow> rows_;
  std::vector<config::Diagnostic> mistakes_;
};

}  // namespace tokenline::validate
