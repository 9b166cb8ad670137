#include "workloads/traffic/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

#include "workloads/traffic/class_name.hpp"
#include "workloads/traffic/csv_file.hpp"
#include "workloads/traffic/timestamp.hpp"

namespace tokenline::traffic {
namespace {

constexpr std::size_t absent = std::numeric_limits<std::size_t>::max();

/// How a format spells what we need.
struct Spelling {
  std::string time;
  std::string prompt;
  std::string output;
  std::string request_class;         ///< Empty: there is no such column.
  std::vector<std::string> ignored;  ///< Columns of our own export that a replay does not need.
  Timestamp (*parse_time)(std::string_view);
  bool from_first_row = false;
};

Spelling spelling(TraceFormat format) {
  if (format == TraceFormat::azure)
    return {"TIMESTAMP", "ContextTokens", "GeneratedTokens", "", {}, parse_calendar_time, true};
  return {"arrival_s",
          "prompt_tokens",
          "output_tokens",
          "class",
          {"request_id", "instance", "outcome", "ttft_ms", "tpot_ms", "e2el_ms", "first_token_s",
           "finish_s", "preemptions", "retries", "recomputed_tokens"},
          parse_decimal_seconds,
          false};
}

/// Positions of the columns in a row.
struct Columns {
  std::size_t count = 0;
  std::size_t time = absent;
  std::size_t prompt = absent;
  std::size_t output = absent;
  std::size_t request_class = absent;

  [[nodiscard]] bool complete() const {
    return time != absent && prompt != absent && output != absent;
  }
};

class TraceReader {
 public:
  TraceReader(config::Document& document, const TraceSelection& selection)
      : selection_(selection),
        spelling_(spelling(selection.format)),
        file_(document, selection.file) {}

  Trace read() {
    CsvRow row;
    if (!file_.ok() || !file_.next(row)) return {};
    read_header(row);
    if (!columns_.complete()) return {};
    const int header = row.line;
    while (file_.next(row)) read_row(row);
    if (row.line == header && file_.ok()) file_.error(header, 1, "a header without rows");
    trace_.has_class_column = columns_.request_class != absent;
    return std::move(trace_);
  }

 private:
  void read_header(const CsvRow& row);
  void read_row(const CsvRow& row);
  std::optional<std::int64_t> read_time(const CsvRow& row);
  std::optional<TimePoint> scenario_time(const CsvRow& row, std::int64_t nanoseconds);
  std::string_view read_class(const CsvRow& row);
  void take(const CsvRow& row, Arrival arrival, std::string_view class_name);

  const TraceSelection& selection_;
  Spelling spelling_;
  CsvFile file_;
  Columns columns_;
  Trace trace_;
  std::optional<std::int64_t> first_;     ///< Time of the first row.
  std::optional<std::int64_t> previous_;  ///< Time of the row before, with its text and line.
  std::string_view previous_text_;
  int previous_line_ = 0;
};

std::uint32_t index_of(std::vector<std::string>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  const auto index = static_cast<std::uint32_t>(found - names.begin());
  if (found == names.end()) names.emplace_back(name);
  return index;
}

void TraceReader::read_header(const CsvRow& row) {
  columns_.count = row.fields.size();
  std::vector<std::pair<std::string, std::size_t*>> wanted{{spelling_.time, &columns_.time},
                                                           {spelling_.prompt, &columns_.prompt},
                                                           {spelling_.output, &columns_.output}};
  if (!spelling_.request_class.empty())
    wanted.emplace_back(spelling_.request_class, &columns_.request_class);
  std::vector<std::string> known = spelling_.ignored;
  for (const auto& [name, position] : wanted) known.push_back(name);
  for (std::size_t i = 0; i < row.fields.size(); ++i) {
    const std::string_view name = row.fields[i];
    if (std::find(row.fields.begin(), row.fields.begin() + static_cast<std::ptrdiff_t>(i), name) !=
        row.fields.begin() + static_cast<std::ptrdiff_t>(i)) {
      file_.error(row, i, fmt::format("column '{}' is given twice", name));
      continue;
    }
    const auto match =
        std::ranges::find_if(wanted, [&](const auto& entry) { return entry.first == name; });
    const bool part_of_ledger = selection_.format == TraceFormat::csv &&
                                (name.starts_with("ttft_") || name.starts_with("e2el_"));
    if (match != wanted.end())
      *match->second = i;
    else if (!part_of_ledger && std::ranges::find(known, name) == known.end())
      file_.error(row, i, fmt::format("unknown column '{}'", name),
                  config::suggestion(name, known));
  }
  for (std::size_t i = 0; i < 3; ++i)
    if (*wanted[i].second == absent)
      file_.error(row.line, 1, fmt::format("column '{}' is missing", wanted[i].first));
}

void TraceReader::read_row(const CsvRow& row) {
  if (row.fields.size() != columns_.count) {
    file_.error(
        row.line, 1,
        fmt::format("{} fields, where the header has {}", row.fields.size(), columns_.count),
        row.fields.size() < columns_.count ? "is the file cut short?" : "");
    return;
  }
  Arrival arrival;
  const auto time = read_time(row);
  arrival.prompt_tokens = parse_tokens(file_, row, columns_.prompt);
  arrival.output_tokens = parse_tokens(file_, row, columns_.output);
  const std::string_view class_name = read_class(row);
  if (!time || !file_.ok()) return;
  const auto when = scenario_time(row, *time);
  if (!when) return;
  arrival.when = *when;
  take(row, arrival, class_name);
}

std::optional<std::int64_t> TraceReader::read_time(const CsvRow& row) {
  const std::string_view text = row.fields[columns_.time];
  const Timestamp stamp = spelling_.parse_time(text);
  if (!stamp.nanoseconds) {
    file_.error(row, columns_.time, stamp.problem);
    return std::nullopt;
  }
  if (previous_ && *stamp.nanoseconds < *previous_)
    file_.error(
        row, columns_.time,
        fmt::format("'{}' is earlier than '{}' of line {}", text, previous_text_, previous_line_),
        "sort the rows by time");
  previous_ = stamp.nanoseconds;
  previous_text_ = text;
  previous_line_ = row.line;
  if (!first_) first_ = stamp.nanoseconds;
  return *stamp.nanoseconds - (spelling_.from_first_row ? *first_ : 0);
}

std::optional<TimePoint> TraceReader::scenario_time(const CsvRow& row, std::int64_t nanoseconds) {
  if (selection_.speedup == 1.0) return TimePoint(Duration(nanoseconds));
  const double scaled = std::floor(static_cast<double>(nanoseconds) / selection_.speedup + 0.5);
  if (scaled < 9.2e18) return TimePoint(Duration(static_cast<std::int64_t>(scaled)));
  file_.error(row, columns_.time, "with this speedup the row is beyond the simulated clock");
  return std::nullopt;
}

std::string_view TraceReader::read_class(const CsvRow& row) {
  if (columns_.request_class == absent) return {};
  const std::string_view name = row.fields[columns_.request_class];
  if (const auto problem = class_name_problem(name); !problem.empty())
    file_.error(row, columns_.request_class, problem);
  else
    index_of(trace_.all_classes, name);
  return name;
}

void TraceReader::take(const CsvRow& row, Arrival arrival, std::string_view class_name) {
  if (selection_.only && *selection_.only != class_name) return;
  if (static_cast<std::int64_t>(trace_.arrivals.size()) >= selection_.limit) return;
  if (columns_.request_class != absent) arrival.class_index = index_of(trace_.classes, class_name);
  trace_.longest_prompt = std::max(trace_.longest_prompt, arrival.prompt_tokens);
  const std::int64_t total = arrival.prompt_tokens + arrival.output_tokens;
  if (total > trace_.longest_total) {
    trace_.longest_total = total;
    trace_.longest_at = {file_.name(), row.line, row.column(columns_.prompt)};
  }
  trace_.arrivals.push_back(arrival);
}

}  // namespace

Trace read_trace(config::Document& document, const TraceSelection& selection) {
  return TraceReader(document, selection).read();
}

}  // namespace tokenline::traffic
