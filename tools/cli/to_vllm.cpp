#include "tools/vllm/to_vllm.hpp"

#include <fmt/format.h>

#include "tools/cli/arguments.hpp"
#include "tools/cli/commands.hpp"

namespace tokenline::cli {
namespace {

Usage to_vllm_usage() {
  return {.synopsis = "to-vllm SCENARIO [options]",
          .about =
              "Prints the `vllm serve` command of a scenario and, where its traffic is one class "
              "of a kind\nthat `vllm bench serve` sends, that command; then every key that no flag "
              "says, as comments.",
          .positional = "SCENARIO",
          .options = {{"set", "PATH=VALUE",
                       "Override a key, e.g. engine.block_size=32; repeatable.", true},
                      {"strict", "", "Exit code 1 where a key is not said.", false}},
          .epilogue = std::string(exit_codes())};
}

}  // namespace

Outcome to_vllm_command(const std::vector<std::string>& words) {
  const auto arguments = parse(to_vllm_usage(), words);
  if (!arguments) return {success, help_text(to_vllm_usage())};
  const ScenarioOptions options{.overrides = arguments->values("set")};
  const vllm::Commands commands = vllm::to_vllm(load_scenario(arguments->positional(), options));
  Outcome outcome;
  std::vector<std::string> serve = commands.environment;
  serve.insert(serve.end(), commands.serve.begin(), commands.serve.end());
  if (!serve.empty()) outcome.output += vllm::shell_line(serve) + '\n';
  if (!commands.bench.empty()) outcome.output += vllm::shell_line(commands.bench) + '\n';
  for (const vllm::Unsaid& key : commands.unsaid)
    outcome.output +=
        fmt::format("# no flag says {}: {} (the commands: {})\n", key.path, key.value, key.meant);
  if (arguments->has("strict") && !commands.unsaid.empty()) outcome.exit_code = assert_failed;
  return outcome;
}

}  // namespace tokenline::cli
