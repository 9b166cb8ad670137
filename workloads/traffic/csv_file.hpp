#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workloads/traffic/text_file.hpp"

namespace tokenline::traffic {

/// One line of a CSV file, cut at its commas. The fields view the CsvFile's text.
struct CsvRow {
  int line = 0;
  std::string_view text;
  std::vector<std::string_view> fields;

  /// Where a field begins, in characters from 1.
  [[nodiscard]] int column(std::size_t field) const;
};

/// A CSV file of plain fields, read line by line; quoted fields are mistakes beside those of every
/// TextFile.
class CsvFile : public TextFile {
 public:
  using TextFile::TextFile;

  /// The next line that is text; false at the end.
  bool next(CsvRow& row);

  using TextFile::error;
  void error(const CsvRow& row, std::size_t field, std::string message, std::string hint = {}) {
    error(row.line, row.column(field), std::move(message), std::move(hint));
  }
  /// Whether a row has as many fields as the header has columns: an error where it has not.
  bool is_whole(const CsvRow& row, std::size_t columns);
};

/// Names of the columns of a file, each at its place.
class CsvColumns {
 public:
  void add(std::string name) { names_.push_back(std::move(name)); }
  [[nodiscard]] std::size_t size() const { return names_.size(); }
  [[nodiscard]] bool has(std::string_view name) const { return at(name) < names_.size(); }
  /// size() where there is none of that name.
  [[nodiscard]] std::size_t at(std::string_view name) const {
    return static_cast<std::size_t>(std::ranges::find(names_, name) - names_.begin());
  }

 private:
  std::vector<std::string> names_;
};

/// The place of a name in a list, at its end where it is new.
std::uint32_t index_of(std::vector<std::string>& names, std::string_view name);

/// No request has more tokens than this.
inline constexpr std::int64_t most_tokens = 1'000'000'000;

/// Why a count of tokens cannot be that of a request, which has 1 … 10^9 of each kind, as a message
/// for the user: `text` is the count as it was written.
[[nodiscard]] std::string token_count_problem(std::string_view text);

/// A count of tokens, `least` … 10^9, written in decimal digits; -1 after reporting any other text.
[[nodiscard]] std::int64_t parse_tokens(CsvFile& file, const CsvRow& row, std::size_t field,
                                        std::int64_t least = 1);

}  // namespace tokenline::traffic
