#pragma once

#include "workloads/traffic/trace.hpp"

namespace tokenline::traffic {

/// Reads the JSON lines of kvcache-ai/Mooncake, as read_trace() does: one object per line with
/// `timestamp` (whole milliseconds), `input_length`, `output_length` and `hash_ids`, one whole
/// number per begun block of 512 tokens of the input. The hashes are checked and not kept: which
/// prompts share a beginning is not modelled.
[[nodiscard]] Trace read_mooncake(config::Document& document, const TraceSelection& selection);

}  // namespace tokenline::traffic
