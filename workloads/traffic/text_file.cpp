#include "workloads/traffic/text_file.hpp"

#include <fmt/format.h>

#include <utility>

#include "sim/config/utf8.hpp"

namespace tokenline::traffic {
namespace {

constexpr int most_mistakes = 20;

}  // namespace

int column_of(std::string_view line, std::size_t byte) {
  return config::count_characters(line.substr(0, byte)) + 1;
}

TextFile::TextFile(config::Document& document, std::string file)
    : document_(document), file_(std::move(file)) {
  try {
    text_ = config::read_file(file_);
    config::check_utf8(file_, text_);
  } catch (const config::ConfigError& unreadable) {
    for (const auto& mistake : unreadable.diagnostics())
      error(mistake.where.line, mistake.where.column, mistake.message, mistake.hint);
    text_.clear();
    return;
  }
  if (text_.starts_with("\xef\xbb\xbf")) begin_ = 3;
  position_ = begin_;
  if (text().empty()) error(1, 1, "the file is empty");
}

TextFile::~TextFile() {
  if (mistakes_ > most_mistakes)
    document_.error(last_, "trace", fmt::format("and {} more", mistakes_ - most_mistakes));
}

void TextFile::error(int line, int column, std::string message, std::string hint) {
  ++mistakes_;
  if (mistakes_ > most_mistakes) return;
  last_ = {file_, line, column};
  document_.error(last_, "trace", std::move(message), std::move(hint));
}

bool TextFile::next_line(std::string_view& text) {
  while (position_ < text_.size()) {
    text = std::string_view(text_).substr(position_);
    text = text.substr(0, text.find('\n'));
    position_ += text.size() + 1;
    if (text.ends_with('\r')) text.remove_suffix(1);
    ++line_;
    if (!text.empty()) return true;
    error(line_, 1, "an empty line");
  }
  return false;
}

}  // namespace tokenline::traffic
