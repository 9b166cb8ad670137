#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tokenline::report {

/// Text in columns, two spaces apart, without trailing spaces. The first `left` columns are
/// left-aligned, the others right-aligned; widths count characters, not bytes.
class TextTable {
 public:
  explicit TextTable(std::size_t left) : left_(left) {}

  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] std::string text() const;

 private:
  std::size_t left_;
  std::vector<std::vector<std::string>> rows_;
};

/// Breaks a text at spaces into lines of at most `limit` characters (a longer word has a line to
/// itself), `indent` spaces before each included.
[[nodiscard]] std::string wrapped(const std::string& text, std::size_t indent, std::size_t limit);

}  // namespace tokenline::report
