#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/traffic/observed.hpp"
#include "workloads/traffic/source.hpp"

namespace tokenline::traffic {

/// What a server or a load generator wrote of an incident. Each is described in README.md.
enum class LogFormat {
  access_log,  ///< CSV of one row per request, with latencies.
  vllm_bench,  ///< The JSON of `vllm bench serve --save-result --save-detailed`.
  vllm_log,    ///< The throughput lines of a vLLM server's log.
};

/// The word of each format, in the order of the enumerators.
[[nodiscard]] const std::vector<std::string>& log_formats();

/// What to read, and what the file does not say.
struct LogSelection {
  std::string file;
  LogFormat format = LogFormat::access_log;
  std::string class_name = "requests";  ///< Of all requests where the file has no classes.
  bool leave_out_unanswered = false;  ///< Requests without output tokens are left out, and counted.
  /// Mean length of a prompt, which the lines of a server's log do not say.
  std::optional<std::int64_t> prompt_tokens{};
};

/// The traffic of an incident, and what was measured of it. Times count from its first request.
struct IncidentLog {
  std::vector<std::string> classes;            ///< By first appearance.
  std::vector<Arrival> arrivals;               ///< Ascending; class_index is into `classes`.
  Observed observed;                           ///< Of each request in turn, or of the queue.
  std::int64_t left_out = 0;                   ///< Requests without an answer.
  std::vector<std::string> assumed;            ///< What the file does not say, a sentence each.
  std::vector<std::string> ignored_columns{};  ///< Of an access log: those that are not ours.
};

/// Reads such a file. Requests come in any order and are sorted by their arrival. Throws
/// ConfigError with every mistake at its line.
[[nodiscard]] IncidentLog read_incident_log(const LogSelection& selection);

}  // namespace tokenline::traffic
