#pragma once

#include "calib/folder.hpp"

namespace tokenline::calib {

/// Reads the layers of Llama-3.1-8B as vLLM ran them on one GPU:
/// vllm_llama31_8b_tp1_{dense,per_sequence,attention}.csv, those that the folder has. An attention
/// call over a chunk alone gives prefill and chunked prefill, one over decodes alone decode
/// attention, and calls over both what the decodes add to the chunk.
void read_layer_tables(Folder& folder);

/// The heads of that model.
[[nodiscard]] hw::Heads layer_heads();

}  // namespace tokenline::calib
