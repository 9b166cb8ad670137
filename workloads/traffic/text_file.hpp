#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sim/config/reader.hpp"

namespace tokenline::traffic {

/// A data file, read whole, and the mistakes found in it. A UTF-8 byte order mark is skipped.
/// Control bytes and invalid UTF-8 are mistakes that leave no text. Mistakes go to the document
/// under the path "trace", the first 20 of a file, then "and N more".
class TextFile {
 public:
  /// A missing or empty file is a mistake, and has no text.
  TextFile(config::Document& document, std::string file);
  /// Reports how many mistakes were left out.
  ~TextFile();
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  /// All of it, without the byte order mark.
  [[nodiscard]] std::string_view text() const { return std::string_view(text_).substr(begin_); }
  /// The next line, without its LF or CRLF; false at the end. An empty line is a mistake, and left
  /// out.
  bool next_line(std::string_view& text);
  /// Of the line last read; 0 before the first.
  [[nodiscard]] int line() const { return line_; }

  void error(int line, int column, std::string message, std::string hint = {});

  [[nodiscard]] const std::string& name() const { return file_; }
  [[nodiscard]] bool ok() const { return mistakes_ == 0; }

 private:
  config::Document& document_;
  std::string file_;
  std::string text_;
  std::size_t begin_ = 0;  ///< Behind the byte order mark.
  std::size_t position_ = 0;
  int line_ = 0;
  int mistakes_ = 0;
  config::Location last_;
};

/// The column, from 1, of a byte of a line.
[[nodiscard]] int column_of(std::string_view line, std::size_t byte);

}  // namespace tokenline::traffic
