#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/diagnostic.hpp"
#include "sim/config/reader.hpp"

namespace tokenline::config {

class Table;

/// A field of a line: its text without quotes, and where it begins, in characters.
struct Field {
  std::string text;
  int column = 1;
};

/// One line of a Table. The getters record a mistake at the field and return a value that stands
/// in for it, the smallest of the range; Table::finish() throws before anyone uses it. A column
/// that the header lacks is reported once, when the table is opened.
class TableRow {
 public:
  [[nodiscard]] int line() const { return line_; }
  /// The text of a column, perhaps empty; `missing` where the file has no such column.
  [[nodiscard]] std::string text(std::string_view column, std::string_view missing = {}) const;
  /// A text that must not be empty.
  [[nodiscard]] std::string word(std::string_view column) const;
  /// One of `words`.
  [[nodiscard]] std::string word(std::string_view column, std::span<const std::string> words) const;
  /// A whole number in a range; "16.0" and "1e3" are none.
  [[nodiscard]] std::int64_t integer(std::string_view column, Range<std::int64_t> range) const;
  /// A finite number in a range.
  [[nodiscard]] double real(std::string_view column, Range<double> range) const;
  /// A mistake at a column of this line; at its beginning where the file has no such column.
  void error(std::string_view column, std::string message, std::string hint = {}) const;
  /// Whether a mistake was found in this line so far.
  [[nodiscard]] bool wrong() const;

 private:
  friend class Table;
  Table* table_ = nullptr;
  int line_ = 0;
  std::vector<Field> fields_;
};

/// The one reader of tables of numbers: a CSV file with a header line, read at once, columns found
/// by their names. UTF-8, perhaps with a byte order mark; lines end in LF or CRLF; a field in
/// double quotes may hold commas, and "" for a quote, but no line end. Mistakes: an empty line, a
/// quote inside a field or never closed, a column named twice, another number of fields than the
/// header. All are gathered; per file 20 are reported, then "and N more". Traces of millions of
/// requests have a reader of their own, in workloads/traffic.
class Table {
 public:
  /// Throws ConfigError for a file that cannot be read or is not UTF-8. `columns` must be there,
  /// `optional` ones may. Others are left alone, but for one whose name is so close to a missing
  /// optional one that it must be meant: what stands in for a missing column is not silence.
  Table(std::string file, const std::vector<std::string_view>& columns,
        const std::vector<std::string_view>& optional = {});
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  /// The lines after the header; empty when a column is missing or named twice.
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
  void read_header(std::string_view line, const std::vector<std::string_view>& columns,
                   const std::vector<std::string_view>& optional);
  void read_row(std::string_view line, int number);
  /// Cuts a line at its commas. Empty, with a mistake, where quotes are misplaced.
  [[nodiscard]] std::optional<std::vector<Field>> split(std::string_view line, int number);

  std::string file_;
  std::map<std::string, std::size_t, std::less<>> columns_;
  std::size_t width_ = 0;  ///< Fields of the header.
  std::vector<TableRow> rows_;
  std::vector<Diagnostic> mistakes_;
  int wrong_line_ = 0;  ///< Of the latest mistake.
};

}  // namespace tokenline::config
