#pragma once

#include "workloads/traffic/trace.hpp"

namespace tokenline::traffic {

/// Reads the JSON lines of kvcache-ai/Mooncake, as read_trace() does: one object per line with
/// `timestamp` (whole milliseconds), `input_length`, `output_length` and `hash_ids`, one whole
/// number per begun block of 512 tokens of the input. Prompts whose hashes
/// begin alike begin alike; a hash stands for all that comes before it too, in this one file.
[[nodiscard]] Trace read_mooncake(config::Document& document, const TraceSelection& selection);

}  // namespace tokenline::traffic
