#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/config/table.hpp"
#include "tools/validate/deployment.hpp"

namespace tokenline::validate {

/// A request as it was served.
struct RecordedRequest {
  traffic::Arrival arrival;
  double ttft_ms = 0.0;
  double tpot_ms = 0.0;
  double e2e_ms = 0.0;
};

/// Running and waiting requests of a server at an instant.
struct RecordedDepth {
  TimePoint when{};
  double running = 0.0;
  double waiting = 0.0;
};

/// One run of a real server.
struct Recording {
  std::string name;
  Deployment server;
  std::string refused;                    ///< Why it cannot be simulated; empty where it can.
  std::vector<RecordedRequest> requests;  ///< In order of arrival.
  std::vector<RecordedDepth> depths;      ///< In order of time; empty where none were kept.
};

/// Columns that every list of requests has.
[[nodiscard]] const std::vector<std::string_view>& request_columns();
/// One request of such a list; `previous` is the one before, which must not be later.
[[nodiscard]] RecordedRequest read_request(const config::TableRow& row,
                                           const RecordedRequest* previous);

/// The recording in a folder: run.json, requests.csv and, where there is one, timeseries.csv.
/// Throws ConfigError with the mistakes of all of them.
[[nodiscard]] Recording read_folder(const std::string& folder);

/// The recordings in a file with a column `run`, in the order of their first rows.
[[nodiscard]] std::vector<Recording> read_runs(const std::string& file);

}  // namespace tokenline::validate
