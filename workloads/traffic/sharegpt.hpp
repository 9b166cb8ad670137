#pragma once

#include "workloads/traffic/trace.hpp"

namespace tokenline::traffic {

/// Reads conversations as ShareGPT's are published: a JSON array of objects that hold
/// `conversations`, an array of messages with a text in `value`. As in `vllm bench serve
/// --dataset-name sharegpt`, the first message of each is a prompt and the second its answer; the
/// rest is not used. There is no tokenizer here: a text of n characters counts ⌈n /
/// `characters_per_token`⌉ tokens. A conversation without two texts is one without an answer. All
/// arrive at 0; mistakes of a conversation stand where its object begins.
[[nodiscard]] Trace read_sharegpt(config::Document& document, const TraceSelection& selection,
                                  double characters_per_token);

}  // namespace tokenline::traffic
