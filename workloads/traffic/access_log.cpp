#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

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
    IncidentLog log = requests_.finish();
    log.ignored_columns = std::move(foreign_);
    return log;
  }

 private:
  bool read_header(const CsvRow& row) {
    for (std::size_t i = 0; i < row.fields.size(); ++i) read_name(row, i);
    for (std::size_t i = 0; i < row.fields.size(); ++i) read_foreign(row, i);
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
    if (has(name)) file_.error(row, field, fmt::format("column '{}' is given twice", name));
    columns_.add(name);
  }

  /// A log holds more than a replay needs. What is nearly a column that is not there is a slip of
  /// the pen; other columns are named and left aside.
  void read_foreign(const CsvRow& row, std::size_t field) {
    const std::string name(row.fields[field]);
    std::vector<std::string> known{"class"};
    for (const auto* more : {&needed, &times, &latency_names})
      known.insert(known.end(), more->begin(), more->end());
    const bool ledger =
        (name.starts_with("ttft_") || name.starts_with("e2el_")) && name.ends_with("_ms");
    if (ledger || std::ranges::find(known, name) != known.end() ||
        std::ranges::find(ignored, name) != ignored.end())
      return;
    std::erase_if(known, [&](const std::string& one) { return is_given(one); });
    if (const auto meant = config::closest(name, known))
      file_.error(row, field, fmt::format("unknown column '{}'", name),
                  fmt::format("did you mean '{}'? Rename it, or take it out", *meant));
    else
      foreign_.push_back(name);
  }

  /// Whether a column is there, or another that stands for the same.
  [[nodiscard]] bool is_given(const std::string& name) const {
    if (name.starts_with("ttft_")) return has("ttft_ms") || has("ttft_s");
    if (name.starts_with("e2el_")) return has("e2el_ms") || has("e2el_s");
    if (std::ranges::find(times, name) != times.end()) return has(times[0]) || has(times[1]);
    return has(name);
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
    return has("timestamp") ? read_calendar_time(row) : read_seconds(row);
  }

  std::optional<std::int64_t> read_calendar_time(const CsvRow& row) {
    const std::size_t field = at("timestamp");
    const std::string_view text = row.fields[field];
    const auto [stamp, zoned] = parse_zoned_time(text);
    if (!stamp.nanoseconds)
      file_.error(row, field, stamp.problem,
                  parse_rounded_seconds(text).nanoseconds
                      ? "seconds of any clock stand in a column 'arrival_s'"
                      : "");
    else if (zoned_.value_or(zoned) != zoned)
      file_.error(row, field,
                  fmt::format("'{}' has {} time zone, and a row before has {}", text,
                              zoned ? "a" : "no", zoned ? "none" : "one"));
    else
      zoned_ = zoned;
    return stamp.nanoseconds;
  }

  std::optional<std::int64_t> read_seconds(const CsvRow& row) {
    const std::size_t field = at("arrival_s");
    const std::string_view text = row.fields[field];
    const Timestamp stamp = parse_rounded_seconds(text);
    if (!stamp.nanoseconds)
      file_.error(row, field, stamp.problem,
                  parse_zoned_time(text).stamp.nanoseconds
                      ? "times by the calendar stand in a column 'timestamp'"
                      : "");
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
  std::vector<std::string> foreign_;  ///< Columns of others, by name.
  std::optional<bool> zoned_;         ///< Whether times say their zone.
};

}  // namespace

IncidentLog read_access_log(config::Document& document, const LogSelection& selection) {
  return AccessLogReader(document, selection).read();
}

}  // namespace tokenline::traffic
