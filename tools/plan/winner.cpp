// The winner as a scenario, and as what its replicas run.
#include "tools/plan/winner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/report/run_directory.hpp"
#include "sim/report/text_table.hpp"

namespace tokenline::plan {
namespace {

/// Whether a key is of neither the replicas nor the fleet, or is said beside the command.
bool of_the_test(const std::string& path) {
  constexpr std::array<std::string_view, 5> told{"traffic", "assert", "measure", "seed",
                                                 "cluster.replicas"};
  return std::ranges::any_of(told, [&](std::string_view key) {
    return path == key || path.starts_with(std::string(key) + '.');
  });
}

}  // namespace

Scenario winner_scenario(const Result& result) {
  std::vector<std::string> overrides = result.overrides;
  std::string asserts;
  for (const report::Condition& condition : result.plan.slo)
    asserts += (asserts.empty() ? "" : ", ") + fmt::format("\"{}\"", condition.text);
  overrides.push_back(fmt::format("assert=[{}]", asserts));
  overrides.push_back(fmt::format("scenario={}", config::emit_scalar(result.plan.name, true)));
  overrides.push_back(fmt::format("description={}",
                                  config::emit_scalar(result.designs[*result.winner].name, true)));
  return load_scenario(result.plan.base, {.overrides = overrides});
}

std::string winner_yaml(const Result& result, const std::string& directory) {
  return config::emit_yaml(
      report::rebased(winner_scenario(result), directory.empty() ? "." : directory));
}

vllm::Commands replica_commands(const Result& result) {
  Scenario scenario = winner_scenario(result);
  // Of one replica: the plan says how many.
  scenario.cluster.replicas = 1;
  vllm::Commands commands = vllm::to_vllm(scenario);
  commands.bench.clear();
  std::erase_if(commands.unsaid, [](const vllm::Unsaid& key) { return of_the_test(key.path); });
  return commands;
}

std::string replica_commands_text(const Result& result) {
  const vllm::Commands commands = replica_commands(result);
  std::vector<std::string> words = commands.environment;
  words.insert(words.end(), commands.serve.begin(), commands.serve.end());
  std::string text = "\nEach replica, in vLLM's words\n";
  if (!words.empty()) text += "  " + vllm::shell_line(words) + '\n';
  for (const vllm::Unsaid& key : commands.unsaid)
    text += report::wrapped(words.empty() ? fmt::format("{}: {}", key.path, key.meant)
                                          : fmt::format("no flag says {}: {} (the command: {})",
                                                        key.path, key.value, key.meant),
                            2, 160);
  return text;
}

}  // namespace tokenline::plan
