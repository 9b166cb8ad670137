#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tools/validate/row.hpp"

namespace tokenline::validate {

/// How many requests of these lengths TensorRT-LLM's documentation queues ("Preparing a Dataset"
/// in docs/source/performance/perf-overview.md); for lengths that it does not list, those of the
/// listed workload with the nearest sum of lengths.
[[nodiscard]] std::int64_t queued_requests(std::int64_t prompt_tokens, std::int64_t output_tokens);

/// Compares output tokens per second of runs in which every request is there at the start, fixed
/// lengths: a file in the format of TensorRT-LLM's published tables (columns trtllm_version, model,
/// hardware, tp, pp, dtype, isl, osl, output_tok_per_s_total). Throws ConfigError with every
/// mistake.
[[nodiscard]] Comparison compare_throughput(const std::string& file, std::size_t threads);

}  // namespace tokenline::validate
