#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workloads/traffic/timestamp.hpp"
#include "workloads/traffic/trace.hpp"

namespace tokenline::traffic {

/// How a CSV format spells a request: the columns we need, in any order, and those that may be
/// there as well.
struct CsvSpelling {
  std::string time{};  ///< Empty: rows have no time, and all arrive at 0.
  std::string prompt;
  std::string output;
  std::string request_class{};                    ///< Empty: there is no such column.
  std::string content{};                          ///< What a request begins with; likewise.
  std::vector<std::string> ignored{};             ///< Columns that a replay does not need.
  std::vector<std::string> ignored_beginnings{};  ///< Of the names of more of them.
  /// Columns that are checked where they are there: name and the only value a request has.
  std::vector<std::pair<std::string, std::string>> constant{};
  Timestamp (*parse_time)(std::string_view) = nullptr;
  bool from_first_row = false;
};

/// Reads a trace of one row per request, as read_trace() does.
[[nodiscard]] Trace read_csv_trace(config::Document& document, const TraceSelection& selection,
                                   const CsvSpelling& spelling);

}  // namespace tokenline::traffic
