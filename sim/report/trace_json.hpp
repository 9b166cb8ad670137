#pragma once

#include <cstdint>
#include <iosfwd>

#include "sim/engine/run.hpp"
#include "sim/report/run_log.hpp"

namespace tokenline::report {

/// How much of a run a trace holds.
struct TraceExtent {
  TimePoint until{};     ///< The end of the run, or from where on everything is left out.
  bool complete = true;  ///< Nothing is left out.
};

/// Writes trace.json, for Perfetto and chrome://tracing: the JSON object format of the Trace Event
/// Format. README.md, *trace.json*, says what is in it. Where it would grow beyond about `limit`
/// bytes everything after some instant is left out, and the trace says so.
TraceExtent write_trace_json(std::ostream& out, const RunLog& log, const RunResult& run,
                             std::int64_t limit);

}  // namespace tokenline::report
