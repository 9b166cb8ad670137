#include "sim/config/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/config/node.hpp"
#include "sim/config/numbers.hpp"
#include "sim/config/utf8.hpp"

namespace tokenline::config {
namespace {

constexpr std::size_t most_mistakes = 20;

/// The field that begins `rest`, with how many bytes it takes up to its comma. Sets `misplaced` to
/// the byte of a quote that does not belong there, and `why`.
struct Cut {
  std::string text;
  std::size_t size = 0;
  std::optional<std::size_t> misplaced;
  std::string_view why;
};

Cut quoted_field(std::string_view rest) {
  Cut cut;
  for (std::size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] != '"') {
      cut.text += rest[i];
    } else if (rest.substr(i + 1).starts_with('"')) {
      cut.text += '"';
      ++i;
    } else {
      cut.size = i + 1;
      if (cut.size < rest.size() && rest[cut.size] != ',') {
        cut.misplaced = cut.size;
        cut.why = "expected a comma after the closing quote";
      }
      return cut;
    }
  }
  cut.misplaced = 0;
  cut.why = "a quote that is not closed on its line";
  return cut;
}

Cut cut_field(std::string_view rest) {
  if (rest.starts_with('"')) return quoted_field(rest);
  Cut cut;
  cut.size = std::min(rest.find(','), rest.size());
  cut.text = rest.substr(0, cut.size);
  if (const auto quote = cut.text.find('"'); quote != std::string::npos) {
    cut.misplaced = quote;
    cut.why = "a quote inside a field without quotes around it";
  }
  return cut;
}

/// The next line, without its end.
std::string_view next_line(std::string_view& rest) {
  const auto end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// What a file has instead of a column.
std::string in_file(std::string_view column, const std::vector<std::string>& others) {
  if (others.empty()) return {};
  if (const auto best = closest(column, others)) return fmt::format("the file has '{}'", *best);
  return fmt::format("the file has {}", fmt::join(others, ", "));
}

std::string bounds(const Range<double>& range) {
  return fmt::format("a number from {} to {}", range.min, range.max);
}

}  // namespace

std::string TableRow::text(std::string_view column, std::string_view missing) const {
  const auto at = table_->index_of(column);
  return at ? fields_[*at].text : std::string(missing);
}

std::string TableRow::word(std::string_view column) const {
  std::string value = text(column);
  if (value.empty()) error(column, "nothing is given");
  return value;
}

std::string TableRow::word(std::string_view column, std::span<const std::string> words) const {
  std::string value = text(column);
  if (std::ranges::find(words, value) == words.end())
    error(column, fmt::format("unknown value '{}'", value), suggestion(value, words));
  return value;
}

std::int64_t TableRow::integer(std::string_view column, Range<std::int64_t> range) const {
  const std::string value = text(column);
  const auto within = [&](double number) {
    return number >= static_cast<double>(range.min) && number <= static_cast<double>(range.max);
  };
  const auto number = parse_integer(value);
  if (number.ok() && number.value >= range.min && number.value <= range.max) return number.value;
  const auto real = parse_real(value);
  error(column,
        fmt::format("expected a whole number from {} to {}, got '{}'", range.min, range.max, value),
        real.ok() && !within(real.value) ? "" : integer_hint(value));
  return range.min;
}

double TableRow::real(std::string_view column, Range<double> range) const {
  const std::string value = text(column);
  const auto number = parse_real(value);
  if (number.ok() && number.value >= range.min && number.value <= range.max) return number.value;
  error(column, fmt::format("expected {}, got '{}'", bounds(range), value));
  return range.min;
}

void TableRow::error(std::string_view column, std::string message, std::string hint) const {
  const auto at = table_->index_of(column);
  table_->error(line_, at ? fields_[*at].column : 1, column, std::move(message), std::move(hint));
}

bool TableRow::wrong() const { return table_->wrong_line_ == line_; }

Table::Table(std::string file, const std::vector<std::string_view>& columns,
             const std::vector<std::string_view>& optional)
    : file_(std::move(file)) {
  const std::string text = read_file(file_);
  check_utf8(file_, text);
  std::string_view rest = text;
  if (rest.starts_with("\xef\xbb\xbf")) rest.remove_prefix(3);
  read_header(next_line(rest), columns, optional);
  if (!mistakes_.empty()) return;
  for (int number = 2; !rest.empty(); ++number) read_row(next_line(rest), number);
}

void Table::read_header(std::string_view line, const std::vector<std::string_view>& columns,
                        const std::vector<std::string_view>& optional) {
  if (line.empty()) {
    error(1, 1, "", "no header line", fmt::format("the columns are {}", fmt::join(columns, ",")));
    return;
  }
  const auto header = split(line, 1);
  if (!header) return;
  width_ = header->size();
  const auto expected = [&](std::string_view name) {
    return std::ranges::find(columns, name) != columns.end() ||
           std::ranges::find(optional, name) != optional.end();
  };
  std::vector<std::string> others;
  for (std::size_t i = 0; i < width_; ++i) {
    const Field& field = (*header)[i];
    if (!columns_.emplace(field.text, i).second)
      error(1, field.column, field.text, "a column is named twice");
    if (!field.text.empty() && !expected(field.text)) others.push_back(field.text);
  }
  for (const std::string_view column : columns)
    if (!has(column)) error(1, 1, column, "the header lacks this column", in_file(column, others));
  for (const std::string_view column : optional)
    if (const auto meant = has(column) ? std::nullopt : closest(column, others))
      error(1, (*header)[columns_.at(*meant)].column, *meant, "unknown column",
            fmt::format("did you mean '{}'?", column));
}

void Table::read_row(std::string_view line, int number) {
  if (line.empty()) {
    error(number, 1, "", "an empty line");
    return;
  }
  auto fields = split(line, number);
  if (!fields) return;
  if (fields->size() != width_) {
    error(number, 1, "", fmt::format("{} fields, the header has {}", fields->size(), width_));
    return;
  }
  TableRow row;
  row.table_ = this;
  row.line_ = number;
  row.fields_ = std::move(*fields);
  rows_.push_back(std::move(row));
}

std::optional<std::vector<Field>> Table::split(std::string_view line, int number) {
  std::vector<Field> fields;
  std::size_t begin = 0;
  int column = 1;
  for (;;) {
    const std::string_view rest = line.substr(begin);
    Cut cut = cut_field(rest);
    if (cut.misplaced) {
      error(number, column + count_characters(rest.substr(0, *cut.misplaced)), "",
            std::string(cut.why), "in a field in quotes, write \"\" for a quote");
      return std::nullopt;
    }
    fields.push_back({std::move(cut.text), column});
    if (cut.size == rest.size()) return fields;
    column += count_characters(rest.substr(0, cut.size + 1));
    begin += cut.size + 1;
  }
}

std::optional<std::size_t> Table::index_of(std::string_view column) const {
  const auto found = columns_.find(column);
  return found == columns_.end() ? std::nullopt : std::optional(found->second);
}

void Table::error(int line, int column, std::string_view path, std::string message,
                  std::string hint) {
  wrong_line_ = line;
  mistakes_.push_back(
      {{file_, line, column}, std::string(path), std::move(message), std::move(hint)});
}

void Table::finish() {
  if (mistakes_.empty() && rows_.empty()) error(1, 1, "", "no row follows the header");
  if (mistakes_.empty()) return;
  const auto by_place = [](const Diagnostic& d) { return std::pair(d.where.line, d.where.column); };
  std::ranges::stable_sort(mistakes_, {}, by_place);
  if (mistakes_.size() > most_mistakes) {
    const std::size_t more = mistakes_.size() - most_mistakes;
    mistakes_.resize(most_mistakes);
    mistakes_.push_back({mistakes_.back().where, "", fmt::format("and {} more", more), ""});
  }
  throw ConfigError(std::move(mistakes_));
}

}  // namespace tokenline::config
