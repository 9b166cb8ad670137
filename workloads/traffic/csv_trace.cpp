#include "workloads/traffic/csv_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>

#include "workloads/traffic/class_name.hpp"
#include "workloads/traffic/csv_file.hpp"
#include "workloads/traffic/trace_rows.hpp"

namespace tokenline::traffic {
namespace {

constexpr std::size_t absent = std::numeric_limits<std::size_t>::max();

class CsvTraceReader {
 public:
  CsvTraceReader(config::Document& document, const TraceSelection& selection,
                 const CsvSpelling& spelling)
      : spelling_(spelling), file_(document, selection.file), rows_(file_, selection) {}

  Trace read() {
    CsvRow row;
    if (!file_.ok() || !file_.next(row)) return {};
    if (!read_header(row)) return {};
    const int header = row.line;
    while (file_.next(row)) read_row(row);
    if (row.line == header && file_.ok()) file_.error(header, 1, "a header without rows");
    return rows_.finish(class_ != absent);
  }

 private:
  bool read_header(const CsvRow& row);
  void read_name(const CsvRow& row, std::size_t field);
  void read_row(const CsvRow& row);
  std::optional<TimePoint> read_time(const CsvRow& row);
  Placed<std::int64_t> read_tokens(const CsvRow& row, std::size_t field);
  std::string_view read_class(const CsvRow& row);
  Content read_content(const CsvRow& row);

  const CsvSpelling& spelling_;
  CsvFile file_;
  TraceRows rows_;
  std::size_t columns_ = 0;  ///< How many there are, then where ours stand.
  std::size_t time_ = absent;
  std::size_t prompt_ = absent;
  std::size_t output_ = absent;
  std::size_t class_ = absent;
  std::size_t content_ = absent;
  std::vector<std::pair<std::size_t, std::string>> constant_;  ///< Where, and the value.
};

/// False when a column is missing.
bool CsvTraceReader::read_header(const CsvRow& row) {
  columns_ = row.fields.size();
  for (std::size_t i = 0; i < columns_; ++i) read_name(row, i);
  bool complete = true;
  const auto need = [&](const std::string& name, std::size_t position) {
    if (name.empty() || position != absent) return;
    file_.error(row.line, 1, fmt::format("column '{}' is missing", name));
    complete = false;
  };
  need(spelling_.time, time_);
  need(spelling_.prompt, prompt_);
  need(spelling_.output, output_);
  return complete;
}

void CsvTraceReader::read_name(const CsvRow& row, std::size_t field) {
  const std::string_view name = row.fields[field];
  const auto here = row.fields.begin() + static_cast<std::ptrdiff_t>(field);
  if (std::find(row.fields.begin(), here, name) != here) {
    file_.error(row, field, fmt::format("column '{}' is given twice", name));
    return;
  }
  std::vector<std::string> known = spelling_.ignored;
  for (const auto& [ours, position] :
       {std::pair(&spelling_.time, &time_), std::pair(&spelling_.prompt, &prompt_),
        std::pair(&spelling_.output, &output_), std::pair(&spelling_.request_class, &class_),
        std::pair(&spelling_.content, &content_)}) {
    if (ours->empty()) continue;
    if (*ours == name) *position = field;
    known.push_back(*ours);
  }
  for (const auto& [constant, value] : spelling_.constant) {
    if (constant == name) constant_.emplace_back(field, value);
    known.push_back(constant);
  }
  const bool ignored = std::ranges::any_of(
      spelling_.ignored_beginnings,
      [&](const std::string& beginning) { return name.starts_with(beginning); });
  if (!ignored && std::ranges::find(known, name) == known.end())
    file_.error(row, field, fmt::format("unknown column '{}'", name),
                config::suggestion(name, known));
}

void CsvTraceReader::read_row(const CsvRow& row) {
  if (!file_.is_whole(row, columns_)) return;
  TraceRow request;
  const auto when = read_time(row);
  request.prompt = read_tokens(row, prompt_);
  request.output = read_tokens(row, output_);
  request.class_name = read_class(row);
  rows_.check(request);
  for (const auto& [field, value] : constant_)
    if (row.fields[field] != value)
      file_.error(row, field,
                  fmt::format("'{}', where a row of one generated request has {}",
                              row.fields[field], value));
  Content content = read_content(row);
  if (!when) return;
  request.when = *when;
  if (rows_.take(request, class_ != absent) && content_ != absent)
    rows_.begins_with(std::move(content));
}

Content CsvTraceReader::read_content(const CsvRow& row) {
  if (content_ == absent) return {};
  auto content = parse_content(row.fields[content_]);
  if (content) return *std::move(content);
  file_.error(row, content_, fmt::format("'{}' is no beginning", row.fields[content_]),
              "write runs of text:tokens with spaces between them, as in 7:1500 12:*");
  return {};
}

std::optional<TimePoint> CsvTraceReader::read_time(const CsvRow& row) {
  if (time_ == absent) return TimePoint{};
  const std::string_view text = row.fields[time_];
  const Timestamp stamp = spelling_.parse_time(text);
  if (stamp.nanoseconds)
    return rows_.when({*stamp.nanoseconds, row.line, row.column(time_)}, text,
                      spelling_.from_first_row);
  file_.error(row, time_, stamp.problem);
  return std::nullopt;
}

Placed<std::int64_t> CsvTraceReader::read_tokens(const CsvRow& row, std::size_t field) {
  return {parse_tokens(file_, row, field, 0), row.line, row.column(field)};
}

std::string_view CsvTraceReader::read_class(const CsvRow& row) {
  if (class_ == absent) return {};
  const std::string_view name = row.fields[class_];
  if (const auto problem = class_name_problem(name); !problem.empty())
    file_.error(row, class_, problem);
  else
    rows_.see_class(name);
  return name;
}

}  // namespace

Trace read_csv_trace(config::Document& document, const TraceSelection& selection,
                     const CsvSpelling& spelling) {
  return CsvTraceReader(document, selection, spelling).read();
}

}  // namespace tokenline::traffic
