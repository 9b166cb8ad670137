#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "workloads/traffic/class_name.hpp"
#include "workloads/traffic/csv_file.hpp"
#include "workloads/traffic/log_requests.hpp"
#include "workloads/traffic/timestamp.hpp"

namespace tokenline::traffic {
namespace {

const std::vector<std::string> needed{"prompt_tokens", "output_tokens"};
const std::vector<std::string> times{"arrival_s", "timestamp"};
const std::vector<std::string> latency_names{"ttft_ms", "ttft_s", "e2el_ms", "e2el_s"};
/// Those of a run's requests.csv that say nothing new; so do its ledger's.
const std::vector<std::string> ignored{
    "request_id", "instance",    "outcome", "tpot_ms",           "first_token_s",
    "finish_s",   "preemptions", "retries", "recomputed_tokens", "cached_tokens"};

class AccessLogReader {
 public:
  AccessLogReader(config::Document& document, const LogSelection& selection)
      : file_(document, selection.file), requests_(file_, selection) {}

  IncidentLog read() {
    CsvRow row;
    if (!file_.ok() || !file_.next(row) || !read_header(row)) return {};
    const int header = row.line;
    // Why kept: the fields of all rows view the file's text.
    while (file_.next(row)) read_row(row);
    if (row.line == header && file_.ok()) file_.error(header, 1, "a header without rows");
    return requests_.finish();
  }

 private:
  bool read_header(const CsvRow& row) {
    for (std::size_t i = 0; i < row.fields.size(); ++i) read_name(row, i);
    for (const std::string& name : needed)
      if (!has(name)) file_.error(row.line, 1, fmt::format("column '{}' is missing", name));
    one_of(row, times, "no time", 1);
    one_of(row, {latency_names[0], latency_names[1]}, "", 0);
    one_of(row, {latency_names[2], latency_names[3]}, "", 0);
    if (std::ranges::none_of(latency_names, [&](const std::string& name) { return has(name); }))
      file_.error(row.line, 1, "no latency was observed: ttft_ms, ttft_s, e2el_ms or e2el_s");
    return file_.ok();
  }

  void read_name(const CsvRow& row, std::size_t field) {
    const std::string name(row.fields[field]);
    std::vector<std::string> known{"class"};
    for (const auto* more : {&needed, &times, &latency_names})
      known.insert(known.end(), more->begin(), more->end());
    const bool ledger =
        (name.starts_with("ttft_") || name.starts_with("e2el_")) && name.ends_with("_ms");
    if (has(name))
      file_.error(row, field, fmt::format("column '{}' is given twice", name));
    else if (std::ranges::find(known, name) == known.end() &&
             std::ranges::find(ignored, name) == ignored.end() && !ledger)
      file_.error(row, field, fmt::format("unknown column '{}'", name),
                  config::suggestion(name, known));
    columns_.add(name);
  }

  /// Of several spellings of a column there are between `least` and one.
  void one_of(const CsvRow& row, const std::vector<std::string>& names, const char* none,
              std::int64_t least) {
    const auto given =
        std::ranges::count_if(names, [&](const std::string& name) { return has(name); });
    if (given < least)
      file_.error(row.line, 1, fmt::format("{}: {}", none, fmt::join(names, " or ")));
    if (given > 1)
      file_.error(row.line, 1, fmt::format("{} stand for the same", fmt::join(names, " and ")));
  }

  [[nodiscard]] bool has(std::string_view name) const { return columns_.has(name); }
  [[nodiscard]] std::size_t at(std::string_view name) const { return columns_.at(name); }

  void read_row(const CsvRow& row) {
    if (!file_.is_whole(row, columns_.size())) return;
    LoggedRequest request{.line = row.line, .column = row.column(at("output_tokens"))};
    const auto when = read_time(row);
    request.prompt_tokens = parse_tokens(file_, row, at("prompt_tokens"));
    request.output_tokens = parse_tokens(file_, row, at("output_tokens"), 0);
    if (has("class")) request.class_name = read_class(row);
    request.ttft = read_latency(row, "ttft");
    request.e2el = read_latency(row, "e2el");
    if (!when || request.prompt_tokens < 0 || request.output_tokens < 0) return;
    request.nanoseconds = *when;
    requests_.add(request);
  }

  std::optional<std::int64_t> read_time(const CsvRow& row) {
    const bool calendar = has("timestamp");
    const std::size_t field = at(calendar ? "timestamp" : "arrival_s");
    const Timestamp stamp =
        (calendar ? parse_calendar_time : parse_rounded_seconds)(row.fields[field]);
    if (!stamp.nanoseconds) file_.error(row, field, stamp.problem);
    return stamp.nanoseconds;
  }

  std::string_view read_class(const CsvRow& row) {
    const std::string_view name = row.fields[at("class")];
    if (const auto problem = class_name_problem(name); !problem.empty())
      file_.error(row, at("class"), problem);
    return name;
  }

  /// "ttft" as ttft_ms or ttft_s; nothing where it was not measured.
  std::optional<Duration> read_latency(const CsvRow& row, const std::string& what) {
    const bool seconds = has(what + "_s");
    const std::string name = what + (seconds ? "_s" : "_ms");
    if (!has(name) || row.fields[at(name)].empty()) return std::nullopt;
    const std::string_view text = row.fields[at(name)];
    const Timestamp stamp = parse_rounded_seconds(text);
    if (!stamp.nanoseconds) {
      file_.error(
          row, at(name),
          fmt::format("'{}' is no number of {}", text, seconds ? "seconds" : "milliseconds"),
          "leave the field empty where it was not measured");
      return std::nullopt;
    }
    return Duration(seconds ? *stamp.nanoseconds : *stamp.nanoseconds / 1000);
  }

  CsvFile file_;
  LogRequests requests_;
  CsvColumns columns_;
};

}  // namespace

IncidentLog read_access_log(config::Document& document, const LogSelection& selection) {
  return AccessLogReader(document, selection).read();
}

}  // namespace tokenline::traffic
