#pragma once

#include "sim/config/reader.hpp"
#include "workloads/traffic/lengths.hpp"
#include "workloads/traffic/source.hpp"

namespace tokenline::traffic {

/// The lengths of a class's requests and the longest that can be drawn.
struct ReadRequestLengths {
  RequestLengths lengths;
  Traffic::Longest longest;
};

/// Reads `prompt_tokens` and `output_tokens`, or `lengths`, a file of requests whose prompt and
/// output are drawn together. Mistakes go to the document, those of the file at its own lines; with
/// mistakes the result is some valid distribution. Rows left out are noted in `traffic`.
[[nodiscard]] ReadRequestLengths read_request_lengths(config::Reader& entry, Traffic& traffic);

}  // namespace tokenline::traffic
