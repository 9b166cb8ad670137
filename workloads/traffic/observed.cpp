#include "workloads/traffic/observed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <utility>

#include "workloads/traffic/csv_file.hpp"
#include "workloads/traffic/timestamp.hpp"

namespace tokenline::traffic {
namespace {

using Latency = std::optional<Duration> ObservedRequest::*;

constexpr std::array<std::pair<std::string_view, Latency>, 3> latency_columns{
    {{"ttft_ms", &ObservedRequest::ttft},
     {"tpot_ms", &ObservedRequest::tpot},
     {"e2el_ms", &ObservedRequest::e2el}}};
const std::vector<std::string> of_requests{"arrival_s", "class", "ttft_ms", "tpot_ms", "e2el_ms"};
const std::vector<std::string> of_queue{"time_s", "running", "waiting"};

class ObservedReader {
 public:
  ObservedReader(config::Document& document, const std::string& file) : file_(document, file) {}

  Observed read() {
    CsvRow row;
    if (!file_.ok() || !file_.next(row) || !read_header(row)) return {};
    const int header = row.line;
    while (file_.next(row)) read_row(row);
    if (row.line == header && file_.ok()) file_.error(header, 1, "a header without rows");
    return std::move(observed_);
  }

 private:
  bool read_header(const CsvRow& row) {
    queue_ = std::ranges::find(row.fields, "time_s") != row.fields.end();
    const std::vector<std::string>& known = queue_ ? of_queue : of_requests;
    for (std::size_t i = 0; i < row.fields.size(); ++i) {
      const std::string name(row.fields[i]);
      if (std::ranges::find(known, name) == known.end())
        file_.error(row, i, fmt::format("unknown column '{}'", name),
                    config::suggestion(name, known));
      else if (has(name))
        file_.error(row, i, fmt::format("column '{}' is given twice", name));
      columns_.add(name);
    }
    const auto need = [&](const std::string& name) {
      if (!has(name)) file_.error(row.line, 1, fmt::format("column '{}' is missing", name));
    };
    for (const std::string& name : queue_ ? of_queue : std::vector{of_requests.front()}) need(name);
    if (!queue_ &&
        std::ranges::none_of(latency_columns, [&](const auto& l) { return has(l.first); }))
      file_.error(row.line, 1, "no latency: ttft_ms, tpot_ms or e2el_ms");
    return file_.ok();
  }

  [[nodiscard]] bool has(std::string_view name) const { return columns_.has(name); }
  [[nodiscard]] std::size_t at(std::string_view name) const { return columns_.at(name); }

  void read_row(const CsvRow& row) {
    if (!file_.is_whole(row, columns_.size())) return;
    if (queue_)
      read_queue(row);
    else
      read_request(row);
  }

  void read_queue(const CsvRow& row) {
    const TimePoint when = read_time(row, at("time_s"));
    const std::int64_t running = parse_count(row, at("running"));
    observed_.queue.push_back({when, running, parse_count(row, at("waiting"))});
  }

  void read_request(const CsvRow& row) {
    ObservedRequest request;
    request.arrival = read_time(row, at("arrival_s"));
    if (has("class")) request.class_name = row.fields[at("class")];
    for (const auto& [name, latency] : latency_columns) {
      if (!has(name) || row.fields[at(name)].empty()) continue;
      request.*latency = parse_milliseconds(row.fields[at(name)]);
      if (!(request.*latency))
        file_.error(row, at(name),
                    fmt::format("'{}' is no number of milliseconds", row.fields[at(name)]),
                    "leave the field empty where it was not measured");
    }
    observed_.requests.push_back(std::move(request));
  }

  TimePoint read_time(const CsvRow& row, std::size_t field) {
    const Timestamp stamp = parse_decimal_seconds(row.fields[field]);
    if (!stamp.nanoseconds) {
      file_.error(row, field, stamp.problem);
      return previous_;
    }
    const TimePoint when{Duration(*stamp.nanoseconds)};
    if (when < previous_)
      file_.error(row, field, fmt::format("'{}' is earlier than the row before", row.fields[field]),
                  "sort the rows by time");
    return previous_ = std::max(previous_, when);
  }

  std::int64_t parse_count(const CsvRow& row, std::size_t field) {
    const std::string_view text = row.fields[field];
    std::int64_t value{};
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (end == text.data() + text.size() && problem == std::errc{} && value >= 0 && !text.empty())
      return value;
    file_.error(row, field, fmt::format("expected a whole number of requests, got '{}'", text));
    return 0;
  }

  CsvFile file_;
  Observed observed_;
  bool queue_ = false;
  CsvColumns columns_;
  TimePoint previous_{};
};

void add_seconds(std::string& out, TimePoint when) {
  const auto ns = when.time_since_epoch().count();
  fmt::format_to(std::back_inserter(out), "{}.{:09}", ns / 1'000'000'000, ns % 1'000'000'000);
}

}  // namespace

Observed read_observed(config::Document& document, const std::string& file) {
  return ObservedReader(document, file).read();
}

std::string observed_csv(const Observed& observed) {
  std::string out;
  if (!observed.queue.empty()) {
    out = "time_s,running,waiting\n";
    for (const ObservedQueue& sample : observed.queue) {
      add_seconds(out, sample.when);
      fmt::format_to(std::back_inserter(out), ",{},{}\n", sample.running, sample.waiting);
    }
    return out;
  }
  const bool classes = std::ranges::any_of(
      observed.requests, [](const ObservedRequest& r) { return !r.class_name.empty(); });
  out = classes ? "arrival_s,class" : "arrival_s";
  const auto measured = [&](Latency latency) {
    return std::ranges::any_of(observed.requests,
                               [&](const auto& r) { return (r.*latency).has_value(); });
  };
  for (const auto& [name, latency] : latency_columns)
    if (measured(latency)) out += fmt::format(",{}", name);
  out += '\n';
  for (const ObservedRequest& request : observed.requests) {
    add_seconds(out, request.arrival);
    if (classes) out += ',' + request.class_name;
    for (const auto& [name, latency] : latency_columns) {
      if (!measured(latency)) continue;
      out += ',';
      if (const auto& value = request.*latency)
        fmt::format_to(std::back_inserter(out), "{}.{:06}", value->count() / 1'000'000,
                       value->count() % 1'000'000);
    }
    out += '\n';
  }
  return out;
}

std::optional<Duration> parse_milliseconds(std::string_view text) {
  const Timestamp stamp = parse_rounded_seconds(text);
  if (!stamp.nanoseconds) return std::nullopt;
  return Duration(*stamp.nanoseconds / 1000);
}

}  // namespace tokenline::traffic
