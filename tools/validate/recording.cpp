#include "tools/validate/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "sim/config/node.hpp"
#include "sim/config/reader.hpp"

namespace tokenline::validate {
namespace {

constexpr config::Range<std::int64_t> counts{1, 1'000'000'000};

TimePoint at_seconds(double seconds) { return TimePoint(to_duration(Seconds(seconds))); }

/// The arguments of `vllm serve` that matter here, under the names of the engine's keys.
std::vector<std::string> engine_keys(config::Reader& arguments) {
  std::vector<std::string> keys;
  const auto take = [&](const char* name, const char* doc) {
    if (arguments.is_null(name)) return;
    if (const auto value = arguments.optional_integer({name, doc}, counts))
      keys.push_back(fmt::format("{}: {}", name, *value));
  };
  take("max_num_seqs", "Most sequences that run at a time.");
  take("max_num_batched_tokens", "Most tokens of a step.");
  take("max_model_len", "Most tokens of a request.");
  return keys;
}

Deployment read_server(const std::string& file) {
  config::Document document(config::load_yaml(file));
  config::Reader root(document);
  root.allow_unknown();
  Deployment server;
  server.model = root.text({"model", "Model as on Hugging Face."});
  server.gpu = root.text({"gpu", "GPU by its name in the catalog."});
  server.preset =
      preset_of_engine("vllm", root.text({"vllm_version", "Version of vLLM that served."}));
  config::Reader arguments = root.section({"engine_kwargs", "Arguments of the engine."});
  arguments.allow_unknown();
  server.tensor_parallel =
      arguments.integer({"tensor_parallel_size", "GPUs that share the model."}, counts, 1);
  server.attention_data_parallel =
      arguments.integer({"data_parallel_size", "Replicas of attention."}, counts, 1);
  server.engine_keys = engine_keys(arguments);
  document.throw_if_errors();
  return server;
}

std::vector<RecordedDepth> read_depths(const std::string& file) {
  Table table(file, {"t", "running", "waiting"});
  std::vector<RecordedDepth> depths;
  for (const TableRow& row : table.rows()) {
    const RecordedDepth depth{.when = at_seconds(row.real("t")),
                              .running = row.real("running"),
                              .waiting = row.real("waiting")};
    if (!depths.empty() && depth.when < depths.back().when)
      row.error("t", "earlier than the row before", "sort the rows by time");
    depths.push_back(depth);
  }
  table.finish();
  return depths;
}

}  // namespace

const std::vector<std::string_view>& request_columns() {
  static const std::vector<std::string_view> columns{"arrival_s", "prompt_tokens", "output_tokens",
                                                     "ttft_ms",   "tpot_ms",       "e2e_ms"};
  return columns;
}

RecordedRequest read_request(const TableRow& row, const RecordedRequest* previous) {
  RecordedRequest request;
  request.arrival.when = at_seconds(row.real("arrival_s"));
  request.arrival.prompt_tokens = row.integer("prompt_tokens");
  request.arrival.output_tokens = row.integer("output_tokens");
  request.ttft_ms = row.positive("ttft_ms");
  request.tpot_ms = row.real("tpot_ms");
  request.e2e_ms = row.positive("e2e_ms");
  if (request.arrival.output_tokens > 1 && request.tpot_ms == 0.0)
    row.error("tpot_ms", "no time between tokens");
  if (previous != nullptr && request.arrival.when < previous->arrival.when)
    row.error("arrival_s", "earlier than the request before", "sort the rows by time");
  return request;
}

Recording read_folder(const std::string& folder) {
  const std::filesystem::path path(folder);
  Recording recording;
  recording.name = path.lexically_normal().filename().string();
  if (recording.name.empty()) recording.name = path.lexically_normal().parent_path().filename();
  recording.server = read_server((path / "run.json").string());
  Table table((path / "requests.csv").string(), request_columns());
  for (const TableRow& row : table.rows())
    recording.requests.push_back(
        read_request(row, recording.requests.empty() ? nullptr : &recording.requests.back()));
  table.finish();
  const auto series = path / "timeseries.csv";
  if (std::filesystem::exists(series)) recording.depths = read_depths(series.string());
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
      recordings.push_back({.name = name, .server = {}, .requests = {}, .depths = {}});
      found = recordings.end() - 1;
    }
    found->requests.push_back(
        read_request(row, found->requests.empty() ? nullptr : &found->requests.back()));
  }
  table.finish();
  return recordings;
}

}  // namespace tokenline::validate
