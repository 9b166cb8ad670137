#include "workloads/traffic/read_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tokenline::traffic {

TraceSelection read_row_keys(config::Reader& section) {
  TraceSelection selection;
  const std::string file =
      section.text({"file", "Path of the data, relative to the scenario's folder."});
  selection.file = section.existing_file("file", file);
  selection.only = section.optional_text({"class", "Take only the rows of this class."});
  constexpr std::int64_t unlimited = TraceSelection::unlimited;
  selection.limit = section.optional_integer({"limit", "Rows taken at most."}, {1, unlimited})
                        .value_or(unlimited);
  static const std::vector<std::string> choices{"refuse", "leave_out"};
  selection.leave_out_unanswered =
      section.word({"unanswered", "What to do with rows without output tokens (failed requests)."},
                   choices, "refuse") == "leave_out";
  selection.max_total_tokens =
      section
          .optional_integer({"max_total_tokens",
                             "Rows of more prompt and output tokens are left out, and counted."},
                            {2, unlimited})
          .value_or(unlimited);
  return selection;
}

void check_rows(const config::Reader& section, const TraceSelection& selection, const Trace& trace,
                Traffic& traffic) {
  if (trace.unanswered > 0)
    traffic.left_out.push_back({section.path() + ".unanswered", trace.unanswered});
  if (trace.too_long > 0)
    traffic.left_out.push_back({section.path() + ".max_total_tokens", trace.too_long});
  if (selection.only && !trace.has_class_column)
    section.error("class", "the trace has no column 'class'");
  else if (!trace.arrivals.empty())
    return;
  else if (selection.only && std::ranges::count(trace.all_classes, *selection.only) == 0)
    section.error("class", fmt::format("no row is of class '{}'", *selection.only),
                  config::suggestion(*selection.only, trace.all_classes));
  else
    section.error("file", fmt::format("no row is left: {} have no answer, {} are too long",
                                      trace.unanswered, trace.too_long));
}

}  // namespace tokenline::traffic
