#include "calib/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "sim/config/node.hpp"

namespace tokenline::calib {
namespace {

using config::Diagnostic;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<double> number(std::string_view text, bool zero) {
  double value = 0.0;
  const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (trouble != std::errc{} || end != text.data() + text.size()) return {};
  if (!std::isfinite(value) || value < 0.0 || (value == 0.0 && !zero)) return {};
  return value;
}

std::optional<std::size_t> index_of(const std::vector<std::string_view>& header,
                                    std::string_view column) {
  const auto found = std::ranges::find(header, column);
  if (found == header.end()) return {};
  return static_cast<std::size_t>(found - header.begin());
}

/// Reads one file, gathering mistakes.
class TableReader {
 public:
  TableReader(std::string path, std::string_view header_line)
      : path_(std::move(path)), header_(split(header_line, ',')) {}

  void want(const std::vector<std::string_view>& numbers, const std::vector<TextColumn>& texts) {
    for (std::string_view column : numbers) {
      const bool zero = column.ends_with(zero_allowed);
      if (zero) column.remove_suffix(1);
      if (const auto at = index_of(header_, column))
        numbers_.emplace_back(*at, zero);
      else
        mistake(1, std::string(column), "the header lacks this column");
    }
    for (const TextColumn& column : texts) {
      const auto at = index_of(header_, column.name);
      if (!at && column.fallback == nullptr)
        mistake(1, std::string(column.name), "the header lacks this column");
      texts_.emplace_back(at, column.fallback == nullptr ? "" : column.fallback);
    }
  }

  void row(int line, std::string_view text) {
    const auto fields = split(text, ',');
    if (fields.size() != header_.size()) {
      mistake(line, "(row)",
              fmt::format("{} fields, the header has {}", fields.size(), header_.size()));
      return;
    }
    std::vector<double> values;
    for (const auto& [at, zero] : numbers_) {
      const auto value = number(fields[at], zero);
      if (!value) {
        mistake(
            line, std::string(header_[at]),
            fmt::format("'{}' is not a {} number", fields[at], zero ? "non-negative" : "positive"));
        return;
      }
      values.push_back(*value);
    }
    std::vector<std::string> words;
    for (const auto& [at, fallback] : texts_)
      words.push_back(at ? std::string(fields[*at]) : fallback);
    table_.numbers.push_back(std::move(values));
    table_.texts.push_back(std::move(words));
  }

  Table finish() {
    if (mistakes_.empty() && table_.numbers.empty())
      mistake(1, "(rows)", "no row follows the header");
    if (!mistakes_.empty()) throw config::ConfigError(std::move(mistakes_));
    return std::move(table_);
  }

  [[nodiscard]] bool usable() const { return mistakes_.empty(); }

 private:
  void mistake(int line, std::string column, std::string message) {
    mistakes_.push_back({{path_, line, 1}, std::move(column), std::move(message), {}});
  }

  std::string path_;
  std::vector<std::string_view> header_;
  std::vector<std::pair<std::size_t, bool>> numbers_;  ///< Field, and whether it may be zero.
  std::vector<std::pair<std::optional<std::size_t>, std::string>>
      texts_;  ///< Field, or what instead.
  Table table_;
  std::vector<Diagnostic> mistakes_;
};

}  // namespace

std::int64_t whole(double value) { return std::llround(value); }

Seconds microseconds(double value) { return Seconds(value * 1e-6); }

Table read_table(const std::string& path, const std::vector<std::string_view>& numbers,
                 const std::vector<TextColumn>& texts) {
  const std::string text = config::read_file(path);
  auto lines = split(text, '\n');
  for (std::string_view& line : lines)
    if (line.ends_with('\r')) line.remove_suffix(1);
  TableReader reader(path, lines.front());
  reader.want(numbers, texts);
  if (reader.usable()) {
    for (std::size_t i = 1; i < lines.size(); ++i)
      if (!lines[i].empty()) reader.row(static_cast<int>(i) + 1, lines[i]);
  }
  return reader.finish();
}

}  // namespace tokenline::calib
