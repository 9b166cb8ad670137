#pragma once

#include <string>

#include "calib/samples.hpp"

namespace tokenline::calib {

/// Reads the layers of Llama-3.1-8B as vLLM ran them on one GPU:
/// vllm_llama31_8b_tp1_{dense,per_sequence,attention}.csv, those that `folder` has. An attention
/// call over a chunk alone gives prefill and chunked prefill, one over decodes alone decode
/// attention, and calls over both what the decodes add to the chunk. Throws config::ConfigError for
/// tables that cannot be read.
[[nodiscard]] Samples read_layer_tables(const hw::Datasheet& gpu, const std::string& folder);

/// The heads of that model.
[[nodiscard]] hw::Heads layer_heads();

}  // namespace tokenline::calib
