#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/node.hpp"
#include "sim/config/reader.hpp"
#include "tests/support/scratch.hpp"
#include "workloads/traffic/source.hpp"
#include "workloads/traffic/trace.hpp"

namespace tokenline::traffic::testing {

/// Reads a scenario of nothing but traffic.
inline Traffic read(const std::string& file, std::string_view yaml, std::uint64_t seed = 42,
                    const std::vector<std::string>& overrides = {}) {
  config::Node root = config::parse_yaml(file, yaml);
  for (const auto& assignment : overrides) config::apply_override(root, assignment);
  config::Document document(std::move(root));
  config::Reader reader(document);
  Traffic traffic = read_traffic(reader, seed);
  reader.finish();
  document.throw_if_errors();
  return traffic;
}

/// The mistakes of a scenario, as the user sees them; empty when there are none.
inline std::string mistakes(const std::string& file, std::string_view yaml) {
  try {
    (void)read(file, yaml);
    return {};
  } catch (const config::ConfigError& error) {
    return error.what();
  }
}

inline std::vector<Arrival> all_of(Source& source) {
  std::vector<Arrival> arrivals;
  while (const auto arrival = source.next()) arrivals.push_back(*arrival);
  return arrivals;
}

/// Reads a trace of this text.
inline Trace read_trace_text(const TraceSelection& wanted, std::string_view text) {
  const Scratch folder;
  TraceSelection selection = wanted;
  selection.file = folder.write("t.csv", text);
  config::Document document{config::Node{}};
  Trace trace = read_trace(document, selection);
  document.throw_if_errors();
  return trace;
}

/// What is wrong with a trace, the folder's name taken out.
inline std::string trace_mistakes(TraceFormat format, std::string_view text) {
  const Scratch folder;
  try {
    config::Document document{config::Node{}};
    (void)read_trace(document, {folder.write("t.csv", text), format});
    document.throw_if_errors();
    return {};
  } catch (const config::ConfigError& error) {
    std::string report = error.what();
    const std::string prefix = folder / "";
    for (auto at = report.find(prefix); at != std::string::npos; at = report.find(prefix))
      report.erase(at, prefix.size());
    return report;
  }
}

/// Arrival times in nanoseconds.
inline std::vector<std::int64_t> times(const Trace& trace) {
  std::vector<std::int64_t> all;
  for (const auto& arrival : trace.arrivals) all.push_back(arrival.when.time_since_epoch().count());
  return all;
}

}  // namespace tokenline::traffic::testing
