#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "workloads/traffic/incident_log.hpp"
#include "workloads/traffic/text_file.hpp"

namespace tokenline::traffic {

/// One request of a log, with the place to blame for it.
struct LoggedRequest {
  std::int64_t nanoseconds = 0;  ///< Of any clock.
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;
  std::string_view class_name{};
  std::optional<Duration> ttft{};
  std::optional<Duration> e2el{};
  int line = 1;
  int column = 1;
};

/// Gathers the requests of a log, whatever its format.
class LogRequests {
 public:
  LogRequests(TextFile& file, const LogSelection& selection) : file_(file), selection_(selection) {}

  /// Checks a request and keeps it; one without an answer is left out where it may be.
  void add(const LoggedRequest& request);
  /// All of them in the order of their arrival, the first at 0.
  [[nodiscard]] IncidentLog finish();

 private:
  [[nodiscard]] bool check(const LoggedRequest& request);

  TextFile& file_;
  const LogSelection& selection_;
  std::vector<LoggedRequest> requests_;
  IncidentLog log_;
};

/// The readers of the formats; mistakes go to the document.
[[nodiscard]] IncidentLog read_access_log(config::Document& document,
                                          const LogSelection& selection);
[[nodiscard]] IncidentLog read_vllm_bench(config::Document& document,
                                          const LogSelection& selection);
[[nodiscard]] IncidentLog read_vllm_log(config::Document& document, const LogSelection& selection);

}  // namespace tokenline::traffic
