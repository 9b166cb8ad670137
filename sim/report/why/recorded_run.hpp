#pragma once

#include <string>

#include "sim/report/summary.hpp"

namespace tokenline::report {

/// Whether a directory was written by a run: it holds summary.json.
[[nodiscard]] bool is_run_directory(const std::string& path);

/// Throws ConfigError unless `again`, the run of a run directory's config.yaml, is what `file`, the
/// directory's summary.json, says: written by this version, with the same figures. Its digest may
/// differ where data files are named relative to the directory.
void require_recorded(const std::string& file, const Summary& again);

/// Throws ConfigError at the first line of `file`, the requests.csv of a run directory, that
/// `again` does not write. A file that is not there says nothing.
void require_recorded_requests(const std::string& file, const RunResult& again);

}  // namespace tokenline::report
