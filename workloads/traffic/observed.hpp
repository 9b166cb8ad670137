#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/time.hpp"
#include "sim/config/reader.hpp"

namespace tokenline::traffic {

/// What was measured of one request; empty where it was not.
struct ObservedRequest {
  TimePoint arrival{};
  std::string class_name;  ///< Empty where the file has no classes.
  std::optional<Duration> ttft;
  std::optional<Duration> tpot;
  std::optional<Duration> e2el;
};

/// How many requests a server said it held.
struct ObservedQueue {
  TimePoint when{};
  std::int64_t running = 0;
  std::int64_t waiting = 0;
};

/// What was measured where a scenario's traffic was served. Times are those of the scenario.
struct Observed {
  std::vector<ObservedRequest> requests;
  std::vector<ObservedQueue> queue;  ///< Ascending.
};

/// Reads measurements: a CSV file of one row per request (`arrival_s`, one or more of `ttft_ms`,
/// `tpot_ms` and `e2el_ms`, optionally `class`; an empty field is one that was not measured), or of
/// one row per look at the queue (`time_s`, `running`, `waiting`). Mistakes go to `document` at
/// their line and column.
[[nodiscard]] Observed read_observed(config::Document& document, const std::string& file);

/// The same as text: a file that reads back as it is.
[[nodiscard]] std::string observed_csv(const Observed& observed);

/// Milliseconds as programs print them ("12.345678"), not negative, to the nanosecond; nothing for
/// any other text.
[[nodiscard]] std::optional<Duration> parse_milliseconds(std::string_view text);

}  // namespace tokenline::traffic
