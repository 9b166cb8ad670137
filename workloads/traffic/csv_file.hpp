#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/reader.hpp"

namespace tokenline::traffic {

/// One line of a CSV file, cut at its commas. The fields view the CsvFile's text.
struct CsvRow {
  int line = 0;
  std::string_view text;
  std::vector<std::string_view> fields;

  /// Where a field begins, in characters from 1.
  [[nodiscard]] int column(std::size_t field) const;
};

/// A CSV file of plain fields, read line by line, and the mistakes found in it. Lines end in LF or
/// CRLF, the last one optionally; a UTF-8 byte order mark is skipped. Quoted fields, empty lines,
/// control bytes and invalid UTF-8 are mistakes (bytes that are no text end the reading). Mistakes
/// go to the document under the path "trace", the first 20 of a file, then "and N more".
class CsvFile {
 public:
  /// Reads the whole file; a missing or empty one is a mistake, and has no rows.
  CsvFile(config::Document& document, std::string file);
  /// Reports how many mistakes were left out.
  ~CsvFile();
  CsvFile(const CsvFile&) = delete;
  CsvFile& operator=(const CsvFile&) = delete;

  /// The next line that is text; false at the end.
  bool next(CsvRow& row);

  void error(int line, int column, std::string message, std::string hint = {});
  void error(const CsvRow& row, std::size_t field, std::string message, std::string hint = {}) {
    error(row.line, row.column(field), std::move(message), std::move(hint));
  }

  [[nodiscard]] const std::string& name() const { return file_; }
  [[nodiscard]] bool ok() const { return mistakes_ == 0; }

 private:
  [[nodiscard]] bool check_text(const CsvRow& row);

  config::Document& document_;
  std::string file_;
  std::string text_;
  std::size_t position_ = 0;
  int line_ = 0;
  int mistakes_ = 0;
  config::Location last_;
};

/// A count of tokens, 1 … 10^9, written in decimal digits; 0 after reporting any other text.
[[nodiscard]] std::int64_t parse_tokens(CsvFile& file, const CsvRow& row, std::size_t field);

/// No request has more tokens than this.
inline constexpr std::int64_t most_tokens = 1'000'000'000;

}  // namespace tokenline::traffic
