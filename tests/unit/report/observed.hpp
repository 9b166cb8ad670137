#pragma once

#include <string>

#include "sim/engine/run.hpp"
#include "sim/report/run_log.hpp"

namespace tokenline::report {

/// So little KV that requests are preempted, and two replicas, one of which crashes.
inline const std::string eventful = R"(scenario: eventful
model: llama-3.1-8b
cluster: {gpu: h100_sxm, replicas: 2}
engine: {preset: vllm-v0, max_model_len: 4096, num_gpu_blocks_override: 400}
faults:
  - {kind: instance_crash, replica: 1, at: 4 s, restart: 1 s}
traffic:
  chat:
    arrival: {process: poisson, rate: 20/s}
    num_prompts: 120
    prompt_tokens: {distribution: uniform, min: 100, max: 900}
    output_tokens: {distribution: uniform, min: 20, max: 200}
)";

/// A run with its log.
struct Observed {
  explicit Observed(const std::string& yaml)
      : scenario(parse_scenario("observed.yaml", yaml)), run(tokenline::run(scenario, {}, &log)) {}

  RunLog log;
  Scenario scenario;
  RunResult run;
};

}  // namespace tokenline::report
