#pragma once

#include <iosfwd>
#include <string>

#include "sim/engine/run.hpp"

namespace tokenline::report {

/// Writes requests.csv: one row per request, measured or not, in the order of arrival. Times are
/// exact decimals of nanoseconds (seconds with nine digits, milliseconds with six), never through a
/// double; `tpot_ms` is rounded to the nanosecond, halves up. A field is empty where it does not
/// apply: latencies and ledger parts of a request that did not complete, tpot of a single token.
/// Readable as a trace of `format: csv`.
void write_requests_csv(std::ostream& out, const RunResult& run);

/// Its header, without line end; `cached_tokens` is a column where requests may begin alike.
[[nodiscard]] std::string requests_csv_header(bool cached_tokens);

}  // namespace tokenline::report
