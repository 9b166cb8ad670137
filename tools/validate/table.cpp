#include "tools/validate/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/config/node.hpp"
#include "sim/config/numbers.hpp"
#include "sim/config/utf8.hpp"

namespace tokenline::validate {
namespace {

constexpr std::size_t most_mistakes = 20;
constexpr std::int64_t largest = 1'000'000'000;

/// Cuts at commas outside quotes, which stay: fields with a comma ("max (IFB, infinite rate)").
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> fields;
  std::size_t begin = 0;
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') inside = !inside;
    if (text[i] != ',' || inside) continue;
    fields.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  fields.push_back(text.substr(begin));
  return fields;
}

std::string_view unquoted(std::string_view field) {
  if (field.size() < 2 || !field.starts_with('"') || !field.ends_with('"')) return field;
  return field.substr(1, field.size() - 2);
}

}  // namespace

std::string TableRow::text(std::string_view column) const {
  const auto at = table_->index_of(column);
  return at ? std::string(unquoted(fields_[*at])) : std::string();
}

std::string TableRow::word(std::string_view column) const {
  std::string value = text(column);
  if (value.empty()) error(column, "nothing is given");
  return value;
}

std::int64_t TableRow::integer(std::string_view column, std::int64_t min) const {
  const std::string value = text(column);
  const auto number = config::parse_integer(value);
  if (number.ok() && number.value >= min && number.value <= largest) return number.value;
  error(column,
        fmt::format("expected a whole number from {} to {}, got '{}'", min, largest, value));
  return min;
}

double TableRow::real(std::string_view column) const {
  const std::string value = text(column);
  const auto number = config::parse_real(value);
  if (number.ok() && number.value >= 0.0) return number.value;
  error(column, fmt::format("expected a number of at least 0, got '{}'", value));
  return 0.0;
}

double TableRow::positive(std::string_view column) const {
  const std::string value = text(column);
  const auto number = config::parse_real(value);
  if (number.ok() && number.value > 0.0) return number.value;
  error(column, fmt::format("expected a number greater than 0, got '{}'", value));
  return 1.0;
}

void TableRow::error(std::string_view column, std::string message, std::string hint) const {
  const auto at = table_->index_of(column);
  int place = 1;
  if (at) {
    const auto bytes = static_cast<std::size_t>(fields_[*at].data() - whole_.data());
    place += config::count_characters(whole_.substr(0, bytes));
  }
  table_->error(line_, place, column, std::move(message), std::move(hint));
}

Table::Table(std::string file, const std::vector<std::string_view>& columns)
    : file_(std::move(file)), text_(config::read_file(file_)) {
  config::check_utf8(file_, text_);
  std::string_view rest = text_;
  if (rest.starts_with("\xef\xbb\xbf")) rest.remove_prefix(3);
  const auto end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  header_ = split(line);
  std::vector<std::string> names(header_.begin(), header_.end());
  for (const std::string_view column : columns)
    if (!has(column))
      error(1, 1, column, "the header lacks this column", config::suggestion(column, names));
  if (!mistakes_.empty() || end == std::string_view::npos) return;
  read_lines(rest.substr(end + 1));
}

void Table::read_lines(std::string_view rest) {
  for (int number = 2; !rest.empty(); ++number) {
    const auto end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    TableRow row;
    row.table_ = this;
    row.line_ = number;
    row.whole_ = line;
    row.fields_ = split(line);
    if (line.empty())
      error(number, 1, "", "an empty line");
    else if (row.fields_.size() != header_.size())
      error(number, 1, "",
            fmt::format("{} fields, the header has {}", row.fields_.size(), header_.size()));
    else
      rows_.push_back(std::move(row));
  }
}

std::optional<std::size_t> Table::index_of(std::string_view column) const {
  const auto found = std::ranges::find(header_, column);
  if (found == header_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - header_.begin());
}

void Table::error(int line, int column, std::string_view path, std::string message,
                  std::string hint) {
  mistakes_.push_back(
      {{file_, line, column}, std::string(path), std::move(message), std::move(hint)});
}

void Table::finish() {
  if (mistakes_.empty() && rows_.empty()) error(1, 1, "", "no row follows the header");
  if (mistakes_.empty()) return;
  const auto by_place = [](const config::Diagnostic& d) {
    return std::pair(d.where.line, d.where.column);
  };
  std::ranges::stable_sort(mistakes_, {}, by_place);
  if (mistakes_.size() > most_mistakes) {
    const std::size_t more = mistakes_.size() - most_mistakes;
    mistakes_.resize(most_mistakes);
    mistakes_.push_back({mistakes_.back().where, "", fmt::format("and {} more", more), ""});
  }
  throw config::ConfigError(std::move(mistakes_));
}

}  // namespace tokenline::validate
