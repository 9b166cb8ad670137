#include "workloads/traffic/trace_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "workloads/traffic/csv_file.hpp"

namespace tokenline::traffic {
std::optional<TimePoint> TraceRows::when(const Placed<std::int64_t>& nanoseconds,
                                         std::string_view text, bool from_first_row) {
  if (previous_ && nanoseconds.value < *previous_)
    file_.error(
        nanoseconds.line, nanoseconds.column,
        fmt::format("'{}' is earlier than '{}' of line {}", text, previous_text_, previous_line_),
        "sort the rows by time");
  previous_ = nanoseconds.value;
  previous_text_ = text;
  previous_line_ = nanoseconds.line;
  if (!first_) first_ = nanoseconds.value;
  const std::int64_t time = nanoseconds.value - (from_first_row ? *first_ : 0);
  if (selection_.speedup == 1.0) return TimePoint(Duration(time));
  const double scaled = std::floor(static_cast<double>(time) / selection_.speedup + 0.5);
  if (scaled < 9.2e18) return TimePoint(Duration(static_cast<std::int64_t>(scaled)));
  file_.error(nanoseconds.line, nanoseconds.column,
              "with this speedup the row is beyond the simulated clock");
  return std::nullopt;
}

bool TraceRows::has_chosen_class(const TraceRow& row) const {
  return !selection_.only || *selection_.only == row.class_name;
}

void TraceRows::check(const TraceRow& row) {
  if (!has_chosen_class(row)) return;
  if (row.output.value == 0 && selection_.leave_out_unanswered) return;
  if (row.prompt.value == 0)
    file_.error(row.prompt.line, row.prompt.column, token_count_problem("0"));
  if (row.output.value == 0)
    file_.error(row.output.line, row.output.column, token_count_problem("0"), leave_out_hint);
}

void TraceRows::see_class(std::string_view name) { index_of(trace_.all_classes, name); }

bool TraceRows::take(const TraceRow& row, bool has_class) {
  if (!file_.ok()) return false;
  if (!has_chosen_class(row)) return false;
  if (static_cast<std::int64_t>(trace_.arrivals.size()) >= selection_.limit) return false;
  const std::int64_t total = row.prompt.value + row.output.value;
  if (row.output.value == 0) {
    ++trace_.unanswered;
    return false;
  }
  if (total > selection_.max_total_tokens) {
    ++trace_.too_long;
    return false;
  }
  Arrival arrival{row.when, row.prompt.value, row.output.value};
  if (has_class) arrival.class_index = index_of(trace_.classes, row.class_name);
  trace_.longest_prompt = std::max(trace_.longest_prompt, arrival.prompt_tokens);
  if (total > trace_.longest_total) {
    trace_.longest_total = total;
    trace_.longest_at = {file_.name(), row.prompt.line, row.prompt.column};
  }
  trace_.arrivals.push_back(arrival);
  return true;
}

void TraceRows::begins_with(Content content) {
  trace_.arrivals.back().session = static_cast<std::uint32_t>(trace_.contents.size());
  trace_.contents.push_back(std::move(content));
}

Trace TraceRows::finish(bool has_class_column) {
  trace_.has_class_column = has_class_column;
  return std::move(trace_);
}

}  // namespace tokenline::traffic
