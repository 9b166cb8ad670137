#pragma once

#include <iosfwd>
#include <string_view>

#include "sim/engine/run.hpp"
#include "sim/report/run_log.hpp"

namespace tokenline::report {

/// Writes steps.csv: one row per step, instance after instance, in the order in which they began.
/// README.md, *steps.csv*, explains the columns. Times are exact decimals of nanoseconds.
void write_steps_csv(std::ostream& out, const RunLog& log, const RunResult& run);

/// The ledger's word for what the head of the queue waits for; empty for nothing.
[[nodiscard]] std::string_view blocked_name(Blocked blocked);

}  // namespace tokenline::report
