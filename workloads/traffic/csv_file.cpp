#include "workloads/traffic/csv_file.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <utility>

#include "sim/config/utf8.hpp"

namespace tokenline::traffic {
namespace {

constexpr int most_mistakes = 20;

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> fields;
  for (;;) {
    const auto comma = text.find(',');
    fields.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return fields;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

int CsvRow::column(std::size_t field) const {
  const auto bytes = static_cast<std::size_t>(fields[field].data() - text.data());
  return config::count_characters(text.substr(0, bytes)) + 1;
}

CsvFile::CsvFile(config::Document& document, std::string file)
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
  if (text_.starts_with("\xef\xbb\xbf")) position_ = 3;
  if (position_ == text_.size()) error(1, 1, "the file is empty");
}

CsvFile::~CsvFile() {
  if (mistakes_ > most_mistakes)
    document_.error(last_, "trace", fmt::format("and {} more", mistakes_ - most_mistakes));
}

void CsvFile::error(int line, int column, std::string message, std::string hint) {
  ++mistakes_;
  if (mistakes_ > most_mistakes) return;
  last_ = {file_, line, column};
  document_.error(last_, "trace", std::move(message), std::move(hint));
}

bool CsvFile::next(CsvRow& row) {
  while (position_ < text_.size()) {
    std::string_view text = std::string_view(text_).substr(position_);
    text = text.substr(0, text.find('\n'));
    position_ += text.size() + 1;
    if (text.ends_with('\r')) text.remove_suffix(1);
    row.line = ++line_;
    row.text = text;
    row.fields = split(text);
    if (check_text(row)) return true;
  }
  return false;
}

bool CsvFile::check_text(const CsvRow& row) {
  if (row.text.empty()) {
    error(row.line, 1, "an empty line");
    return false;
  }
  if (const auto quote = row.text.find('"'); quote != std::string_view::npos) {
    error(row.line, config::count_characters(row.text.substr(0, quote)) + 1, "a quoted field",
          "no column needs quotes: write the bare value");
    return false;
  }
  return true;
}

std::int64_t parse_tokens(CsvFile& file, const CsvRow& row, std::size_t field) {
  const std::string_view text = row.fields[field];
  std::int64_t value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || problem == std::errc::invalid_argument)
    file.error(row, field, fmt::format("expected a whole number of tokens, got '{}'", text));
  else if (problem != std::errc{} || value < 1 || value > most_tokens)
    file.error(row, field,
               fmt::format("{} tokens: a request has 1 to {} of each kind", text, most_tokens));
  else
    return value;
  return 0;
}

}  // namespace tokenline::traffic
