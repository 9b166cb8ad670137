#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/engine/scenario.hpp"

namespace tokenline::vllm {

/// What a scenario says and no flag of vLLM does.
struct Unsaid {
  std::string path;   ///< The key, "cluster.router".
  std::string value;  ///< As the scenario has it, "least_kv"; "absent" where it lacks the key.
  std::string meant;  ///< What the commands give it instead.
};

/// Command lines of vLLM that stand for a scenario.
struct Commands {
  /// Words before the command, "VLLM_USE_V1=0"; empty for most.
  std::vector<std::string> environment;
  /// The words of `vllm serve`: what each replica runs, or all of them where data parallelism says
  /// how many there are.
  std::vector<std::string> serve;
  /// The words of `vllm bench serve`; empty where no flags express the traffic.
  std::vector<std::string> bench;
  /// Every key of the resolved scenario that from_vllm() of these commands does not give back, on
  /// the same GPU, `scenario` and `description` apart; `traffic` as a whole without `bench`.
  std::vector<Unsaid> unsaid;
};

/// The flags that give a scenario's model, parallelism, engine and drafts, and its traffic where
/// there is one class of a kind that `vllm bench serve` sends. Limits are always said, since vLLM's
/// own depend on the GPU. Pure.
[[nodiscard]] Commands to_vllm(const Scenario& scenario);

/// Words as a line for a POSIX shell, which splits it into the same words again.
[[nodiscard]] std::string shell_line(std::span<const std::string> words);

}  // namespace tokenline::vllm
