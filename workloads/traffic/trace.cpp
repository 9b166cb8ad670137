#include "workloads/traffic/trace.hpp"

#include "sim/base/check.hpp"
#include "workloads/traffic/csv_trace.hpp"
#include "workloads/traffic/mooncake.hpp"
#include "workloads/traffic/timestamp.hpp"

namespace tokenline::traffic {
namespace {

CsvSpelling csv_spelling(TraceFormat format) {
  switch (format) {
    case TraceFormat::azure:
      return {.time = "TIMESTAMP",
              .prompt = "ContextTokens",
              .output = "GeneratedTokens",
              .parse_time = parse_calendar_time,
              .from_first_row = true};
    case TraceFormat::burstgpt:
      return {.time = "Timestamp",
              .prompt = "Request tokens",
              .output = "Response tokens",
              .request_class = "Model",
              .ignored = {"Session ID", "Elapsed time", "Total tokens", "Log Type"},
              .parse_time = parse_rounded_seconds,
              .from_first_row = true};
    case TraceFormat::csv:
      return {.time = "arrival_s",
              .prompt = "prompt_tokens",
              .output = "output_tokens",
              .request_class = "class",
              .content = "begins_with",
              .ignored = {"request_id", "instance", "outcome", "ttft_ms", "tpot_ms", "e2el_ms",
                          "first_token_s", "finish_s", "preemptions", "retries",
                          "recomputed_tokens", "cached_tokens"},
              .ignored_beginnings = {"ttft_", "e2el_"},
              .parse_time = parse_decimal_seconds};
    case TraceFormat::splitwise:
      return {.time = "arrival_timestamp",
              .prompt = "prompt_size",
              .output = "token_size",
              .ignored = {"request_id", "application_id"},
              .constant = {{"request_type", "2"}, {"batch_size", "1"}},
              .parse_time = parse_rounded_seconds};
    case TraceFormat::vidur:
      return {.time = "arrived_at",
              .prompt = "num_prefill_tokens",
              .output = "num_decode_tokens",
              .parse_time = parse_rounded_seconds};
    case TraceFormat::mooncake:
      break;
  }
  fail_check(__FILE__, __LINE__, "format", "a trace format that is no CSV");
}

}  // namespace

const std::vector<std::string>& trace_formats() {
  static const std::vector<std::string> names{"azure",    "burstgpt",  "csv",
                                              "mooncake", "splitwise", "vidur"};
  return names;
}

Trace read_trace(config::Document& document, const TraceSelection& selection) {
  if (selection.format == TraceFormat::mooncake) return read_mooncake(document, selection);
  return read_csv_trace(document, selection, csv_spelling(selection.format));
}

}  // namespace tokenline::traffic
