#pragma once

#include <string>

#include "tests/support/scratch.hpp"
#include "tools/plan/plan.hpp"

namespace tokenline::plan_test {

/// A chat of 20 requests a second for ten seconds, on GPUs whose tables are built in a millisecond.
inline const std::string small_base = R"(scenario: small
model: llama-3.1-8b
cluster: {gpu: l40s}
engine: {preset: vllm-v1, max_model_len: 1024, max_num_batched_tokens: 512, max_num_seqs: 32}
traffic:
  chat:
    arrival: {process: poisson, rate: 20/s}
    stop: 10 s
    prompt_tokens: {distribution: uniform, min: 100, max: 700}
    output_tokens: {distribution: uniform, min: 20, max: 80}
)";

inline const std::string small_plan = R"(plan: small
base: base.yaml
growth: 1.2
survive: 1
seeds: 5
replicas: {max: 12}
slo: [p99_ttft(chat) < 600 ms, p99_tpot(chat) < 150 ms]
axes:
  - {axis: gpu, key: cluster.gpu, values: [l4, l40s, h100_pcie]}
  - {axis: sequences, key: engine.max_num_seqs, values: [8, 32]}
)";

/// A folder with a base and a plan.
class PlanFolder : public Scratch {
 public:
  explicit PlanFolder(const std::string& plan = small_plan, const std::string& base = small_base) {
    (void)write("base.yaml", base);
    (void)write("plan.yaml", plan);
  }
  [[nodiscard]] plan::Plan load() const { return plan::load_plan(*this / "plan.yaml"); }
};

/// A text with a passage changed.
inline std::string with(std::string text, const std::string& passage, const std::string& becomes) {
  return text.replace(text.find(passage), passage.size(), becomes);
}

}  // namespace tokenline::plan_test
