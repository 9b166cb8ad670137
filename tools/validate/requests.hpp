#pragma once

#include <optional>
#include <string>

#include "tools/validate/row.hpp"

namespace tokenline::validate {

/// Replays recorded requests (arrival, prompt and output tokens) through the engine that served
/// them and compares mean, median, P90, P95 and P99 of TTFT, TPOT and E2E. Throws ConfigError with
/// every mistake of the files.
///
/// `path` is a folder with run.json (the engine's arguments), requests.csv and, optionally,
/// timeseries.csv (running and waiting requests each second, compared as `figures`), or a CSV file
/// of runs of OPT-13B on one A100 (columns run, arrival_s, prompt_tokens, output_tokens, ttft_ms,
/// tpot_ms, e2e_ms), of which `run` selects one. Runs that were not served by vLLM are refused.
[[nodiscard]] Comparison compare_requests(const std::string& path,
                                          const std::optional<std::string>& run);

}  // namespace tokenline::validate
