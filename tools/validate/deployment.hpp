#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/engine/run.hpp"

namespace tokenline::validate {

/// A server as a source of measurements names it.
struct Deployment {
  std::string model;  ///< "Qwen/Qwen3-32B"; preset_of_model() says what it means here.
  std::string gpu;    ///< "h100_sxm"; hw::catalog_name() says what it means here.
  std::string preset;
  std::int64_t tensor_parallel = 1;  ///< Of attention.
  /// Where it differs from 0: prompts are computed by a replica of `tensor_parallel` GPUs and
  /// decoded by one of so many, in one HGX node of the GPU's kind.
  std::int64_t decode_tensor_parallel = 0;
  std::int64_t pipeline_parallel = 1;
  std::int64_t attention_data_parallel = 1;
  std::int64_t expert_parallel = 1;
  std::string weights;                   ///< "" (16 bit), "fp8", "fp8_block", "nvfp4", …
  std::vector<std::string> engine_keys;  ///< "max_num_seqs: 256", on top of the preset.
};

/// The preset of a model under the name a source gives it: without its organisation and in lower
/// case, then without "meta-", "-instruct" and the suffix of its quantisation as far as needed to
/// name one of `tokenline list models`. "nvidia/Llama-3.1-8B-Instruct-FP8" is llama-3.1-8b,
/// "Qwen/Qwen3-235B-A22B-FP8" the preset of that name.
[[nodiscard]] std::optional<std::string> preset_of_model(const std::string& name);

/// A scenario, or why there is none.
struct Built {
  std::optional<Scenario> scenario;
  std::string refused;
};

/// Writes the deployment under `traffic` (YAML, one class indented by two spaces) as the text of a
/// scenario and reads it as `tokenline run` would. Refused: a model or GPU that is not built in,
/// more GPUs than a node holds, and whatever the reader says (its first mistake).
[[nodiscard]] Built build(const Deployment& deployment, const std::string& traffic);

/// Runs a scenario; an audit that fails is our bug.
[[nodiscard]] RunResult run_audited(Scenario& scenario, std::span<const TimePoint> probes = {});

}  // namespace tokenline::validate
