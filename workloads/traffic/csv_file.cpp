#include "workloads/traffic/csv_file.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>

namespace tokenline::traffic {
namespace {

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
  return column_of(text, static_cast<std::size_t>(fields[field].data() - text.data()));
}

bool CsvFile::next(CsvRow& row) {
  while (next_line(row.text)) {
    row.line = line();
    if (const auto quote = row.text.find('"'); quote != std::string_view::npos) {
      error(row.line, column_of(row.text, quote), "a quoted field",
            "no column needs quotes: write the bare value");
      continue;
    }
    row.fields = split(row.text);
    return true;
  }
  return false;
}

bool CsvFile::is_whole(const CsvRow& row, std::size_t columns) {
  const std::size_t fields = row.fields.size();
  if (fields == columns) return true;
  error(row.line, 1, fmt::format("{} fields, where the header has {}", fields, columns),
        fields < columns ? "is the file cut short?" : "");
  return false;
}

std::uint32_t index_of(std::vector<std::string>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  const auto index = static_cast<std::uint32_t>(found - names.begin());
  if (found == names.end()) names.emplace_back(name);
  return index;
}

std::string token_count_problem(std::string_view text) {
  return fmt::format("{} tokens: a request has 1 to {} of each kind", text, most_tokens);
}

std::int64_t parse_tokens(CsvFile& file, const CsvRow& row, std::size_t field, std::int64_t least) {
  const std::string_view text = row.fields[field];
  std::int64_t value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || problem == std::errc::invalid_argument)
    file.error(row, field, fmt::format("expected a whole number of tokens, got '{}'", text));
  else if (problem != std::errc{} || value < least || value > most_tokens)
    file.error(row, field, token_count_problem(text));
  else
    return value;
  return -1;
}

}  // namespace tokenline::traffic
