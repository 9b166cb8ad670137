#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tools/validate/deployment.hpp"

namespace tokenline::validate {

/// What a closed-loop run asks of its server.
struct ClosedLoop {
  std::int64_t prompt_tokens = 1;
  std::int64_t output_tokens = 1;
  std::int64_t concurrency = 1;

  /// The longest request, with room for a chat template's tokens: InferenceX's benchmark_lib.sh,
  /// setup_eval_context.
  [[nodiscard]] std::int64_t max_model_len() const { return prompt_tokens + output_tokens + 256; }
};

/// Gives a server the engine arguments with which its source starts it: README.md, *Servers*. Those
/// of InferenceX (SemiAnalysisAI/InferenceX, benchmarks/*.sh) by engine and model; engines and
/// models without a known script keep their defaults.
void apply_inferencex_recipe(Deployment& server, std::string_view engine, const ClosedLoop& load);

/// The same for what aiconfigurator's generator writes for a workload; `version` is the engine's,
/// perhaps empty.
void apply_aiconfigurator_recipe(Deployment& server, std::string_view engine,
                                 std::string_view version, const ClosedLoop& load);

}  // namespace tokenline::validate
