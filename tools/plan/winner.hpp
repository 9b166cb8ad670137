#pragma once

#include <string>

#include "sim/engine/scenario.hpp"
#include "tools/plan/plan.hpp"
#include "tools/vllm/to_vllm.hpp"

namespace tokenline::plan {

/// The winner with the SLOs as its `assert:`. Contract: there is a winner.
[[nodiscard]] Scenario winner_scenario(const Result& result);

/// The `vllm serve` command of each replica of the winner, and which of the keys of its engine and
/// fleet no flag says; no words with pools. Contract: there is a winner.
[[nodiscard]] vllm::Commands replica_commands(const Result& result);

/// The same on the console.
[[nodiscard]] std::string replica_commands_text(const Result& result);

}  // namespace tokenline::plan
