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

}  // namespace tokenline::report
