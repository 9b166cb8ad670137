#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/engine/recorded.hpp"
#include "sim/engine/scenario.hpp"
#include "sim/report/fidelity.hpp"
#include "sim/report/run_directory.hpp"

namespace tokenline::report {

/// The traffic of a fleet that serves it: what `incident import` makes a scenario of.
struct IncidentTraffic {
  traffic::RecordedRequests requests;
  std::vector<traffic::RequestClass> classes;
  std::int64_t left_out = 0;                   ///< Requests without an answer.
  std::vector<std::string> assumed;            ///< What the log does not say, a sentence each.
  std::vector<std::string> ignored_columns{};  ///< Of the log: those that a replay does not need.
};

/// Where the traffic comes from and where it is replayed.
struct IncidentSource {
  std::string log;     ///< The file that was imported, without its folder.
  std::string format;  ///< "access-log"
};

/// The scenario of `base` with that traffic in place of its own, as a file of `directory` that
/// replays trace.csv and is held against observed.csv there. A class that the base has too keeps
/// its targets, priority and clients; what the base asserts and measures is left out. It is called
/// "<log> on <base>".
[[nodiscard]] std::string incident_yaml(const Scenario& base, const IncidentSource& source,
                                        const IncidentTraffic& incident, double tolerance,
                                        const std::string& directory);

/// import.json: how many requests there are, what was assumed, and what of the log was ignored.
[[nodiscard]] std::string import_json(const IncidentTraffic& incident);

/// What `tokenline incident import` prints.
[[nodiscard]] std::string import_text(const IncidentTraffic& incident, const Fidelity& fidelity);

}  // namespace tokenline::report
