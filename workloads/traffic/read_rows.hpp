#pragma once

#include "sim/config/reader.hpp"
#include "workloads/traffic/source.hpp"
#include "workloads/traffic/trace.hpp"

namespace tokenline::traffic {

/// Reads which rows of a data file are taken: `file`, `class`, `limit`, `unanswered` and
/// `max_total_tokens`. The file's name is empty where there is none to read.
[[nodiscard]] TraceSelection read_row_keys(config::Reader& section);

/// Reports a selection that leaves no row, and notes in `traffic` how many rows are left out. To be
/// called only where the file had no mistakes.
void check_rows(const config::Reader& section, const TraceSelection& selection, const Trace& trace,
                Traffic& traffic);

}  // namespace tokenline::traffic
