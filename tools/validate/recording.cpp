#include "tools/validate/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "sim/config/diagnostic.hpp"
#include "tools/validate/columns.hpp"
#include "tools/validate/recorded_server.hpp"

namespace tokenline::validate {
namespace {

using config::Table;
using config::TableRow;

/// Running and waiting requests: whole numbers, or their means.
constexpr config::Range<double> queue_lengths{0.0, 1e9};

TimePoint at_seconds(double seconds) { return TimePoint(to_duration(Seconds(seconds))); }

std::vector<RecordedDepth> read_depths(const std::string& file) {
  Table table(file, {"t", "running", "waiting"});
  std::vector<RecordedDepth> depths;
  for (const TableRow& row : table.rows()) {
    const RecordedDepth depth{.when = at_seconds(row.real("t", instants)),
                              .running = row.real("running", queue_lengths),
                              .waiting = row.real("waiting", queue_lengths)};
    if (!depths.empty() && depth.when < depths.back().when)
      row.error("t", "earlier than the row before", "sort the rows by time");
    depths.push_back(depth);
  }
  table.finish();
  return depths;
}

std::vector<RecordedRequest> read_requests(const std::string& file) {
  Table table(file, request_columns());
  std::vector<RecordedRequest> requests;
  for (const TableRow& row : table.rows())
    requests.push_back(read_request(row, requests.empty() ? nullptr : &requests.back()));
  table.finish();
  return requests;
}

}  // namespace

const std::vector<std::string_view>& request_columns() {
  static const std::vector<std::string_view> columns{"arrival_s", "prompt_tokens", "output_tokens",
                                                     "ttft_ms",   "tpot_ms",       "e2e_ms"};
  return columns;
}

RecordedRequest read_request(const TableRow& row, const RecordedRequest* previous) {
  RecordedRequest request;
  request.arrival.when = at_seconds(row.real("arrival_s", instants));
  request.arrival.prompt_tokens = row.integer("prompt_tokens", token_counts);
  request.arrival.output_tokens = row.integer("output_tokens", token_counts);
  request.ttft_ms = row.real("ttft_ms", milliseconds);
  request.tpot_ms = row.real("tpot_ms", {0.0, milliseconds.max});
  request.e2e_ms = row.real("e2e_ms", milliseconds);
  if (request.arrival.output_tokens > 1 && request.tpot_ms < milliseconds.min)
    row.error("tpot_ms", "no time between tokens");
  if (!row.wrong() && request.e2e_ms < request.ttft_ms)
    row.error("e2e_ms", fmt::format("the last token after {} ms, the first after {} ms",
                                    request.e2e_ms, request.ttft_ms));
  if (previous != nullptr && request.arrival.when < previous->arrival.when)
    row.error("arrival_s", "earlier than the request before", "sort the rows by time");
  return request;
}

Recording read_folder(const std::string& folder) {
  const std::filesystem::path path(folder);
  Recording recording;
  recording.name = path.lexically_normal().filename().string();
  if (recording.name.empty()) recording.name = path.lexically_normal().parent_path().filename();
  config::Mistakes mistakes;
  RecordedServer server;
  mistakes.gather([&] { server = read_server((path / "run.json").string()); });
  mistakes.gather([&] { recording.requests = read_requests((path / "requests.csv").string()); });
  const auto series = path / "timeseries.csv";
  if (std::filesystem::exists(series))
    mistakes.gather([&] { recording.depths = read_depths(series.string()); });
  mistakes.throw_if_any();
  if (server.requests && *server.requests != std::ssize(recording.requests))
    throw config::ConfigError(
        {server.requests_at, "num_requests",
         fmt::format("{}, but requests.csv has {}", *server.requests, recording.requests.size()),
         ""});
  recording.server = std::move(server.deployment);
  recording.refused = std::move(server.refused);
  return recording;
}

std::vector<Recording> read_runs(const std::string& file) {
  std::vector<std::string_view> columns = request_columns();
  columns.emplace_back("run");
  Table table(file, columns);
  std::vector<Recording> recordings;
  for (const TableRow& row : table.rows()) {
    const std::string name = row.word("run");
    auto found = std::ranges::find(recordings, name, &Recording::name);
    if (found == recordings.end()) {
      recordings.push_back(
          {.name = name, .server = {}, .refused = {}, .requests = {}, .depths = {}});
      found = recordings.end() - 1;
    }
    found->requests.push_back(
        read_request(row, found->requests.empty() ? nullptr : &found->requests.back()));
  }
  table.finish();
  return recordings;
}

}  // namespace tokenline::validate
