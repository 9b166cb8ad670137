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

std::optional<double> positive(std::string_view text) {
  double value = 0.0;
  const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (trouble != std::errc{} || end != text.data() + text.size()) return {};
  if (!std::isfinite(value) || value <= 0.0) return {};
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

  void want(const std::vector<std::string_view>& columns, const std::vector<Filter>& filters) {
    for (const std::string_view column : columns) {
      const auto at = index_of(header_, column);
      if (at) {
        wanted_.push_back(*at);
      } else {
        mistake(1, std::string(column), "the header lacks this column");
      }
    }
    for (const Filter& filter : filters)
      if (const auto at = index_of(header_, filter.column))
        filters_.emplace_back(*at, filter.value);
  }

  void row(int line, std::string_view text) {
    const auto fields = split(text, ',');
    if (fields.size() != header_.size()) {
      mistake(line, "(row)",
              fmt::format("{} fields, the header has {}", fields.size(), header_.size()));
      return;
    }
    const auto excluded = [&](const auto& filter) { return fields[filter.first] != filter.second; };
    if (std::ranges::any_of(filters_, excluded)) return;
    std::vector<double> values;
    for (const std::size_t at : wanted_) {
      const auto value = positive(fields[at]);
      if (!value) {
        mistake(line, std::string(header_[at]),
                fmt::format("'{}' is not a positive number", fields[at]));
        return;
      }
      values.push_back(*value);
    }
    rows_.push_back(std::move(values));
  }

  Rows finish() {
    if (mistakes_.empty() && rows_.empty())
      mistake(1, "(rows)", "no row is left after the header and the filters");
    if (!mistakes_.empty()) throw config::ConfigError(std::move(mistakes_));
    return std::move(rows_);
  }

  [[nodiscard]] bool usable() const { return mistakes_.empty(); }

 private:
  void mistake(int line, std::string column, std::string message) {
    mistakes_.push_back({{path_, line, 1}, std::move(column), std::move(message), {}});
  }

  std::string path_;
  std::vector<std::string_view> header_;
  std::vector<std::size_t> wanted_;
  std::vector<std::pair<std::size_t, std::string_view>> filters_;
  Rows rows_;
  std::vector<Diagnostic> mistakes_;
};

}  // namespace

Rows read_table(const std::string& path, const std::vector<std::string_view>& columns,
                const std::vector<Filter>& filters) {
  const std::string text = config::read_file(path);
  auto lines = split(text, '\n');
  for (std::string_view& line : lines)
    if (line.ends_with('\r')) line.remove_suffix(1);
  TableReader reader(path, lines.front());
  reader.want(columns, filters);
  if (reader.usable()) {
    for (std::size_t i = 1; i < lines.size(); ++i)
      if (!lines[i].empty()) reader.row(static_cast<int>(i) + 1, lines[i]);
  }
  return reader.finish();
}

}  // namespace tokenline::calib
