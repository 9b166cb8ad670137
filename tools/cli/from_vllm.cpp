#include "tools/vllm/from_vllm.hpp"

#include <algorithm>
#include <cstdio>

#include "sim/report/run_directory.hpp"
#include "tools/cli/arguments.hpp"
#include "tools/cli/commands.hpp"

namespace tokenline::cli {
namespace {

Usage from_vllm_usage() {
  return {
      .synopsis = "from-vllm [options] -- vllm serve MODEL [flags]",
      .about =
          "Makes a scenario of the command lines of a vLLM server and of its benchmark. Every "
          "flag is\nmodelled, without effect on the figures, or named as not modelled; an "
          "unknown one is a mistake.",
      .positional = "",
      .options = {{"bench", "COMMAND",
                   "The traffic: a whole `vllm bench serve …` line, quoted as for a shell.", false},
                  {"gpu", "GPU", "A name of `tokenline list gpus`, or a file; h100_sxm.", false},
                  {"set", "PATH=VALUE", "A key that no flag says; repeatable.", true},
                  {"out", "FILE", "Write the scenario there, not to standard output.", false},
                  {"strict", "", "Exit code 1 where a flag is not modelled.", false}},
      .epilogue =
          "Without --bench the traffic is what that tool sends by default. "
          "tools/vllm/README.md lists\nthe flags.\n" +
          std::string(exit_codes())};
}

}  // namespace

Outcome from_vllm_command(const std::vector<std::string>& words) {
  const auto end = std::ranges::find(words, "--");
  const auto arguments = parse(from_vllm_usage(), {words.begin(), end});
  if (!arguments) return {success, help_text(from_vllm_usage())};
  if (end == words.end())
    throw UsageError("the command is missing: tokenline from-vllm -- vllm serve MODEL …");
  const std::vector<std::string> serve(end + 1, words.end());
  vllm::FromVllmOptions options{.overrides = arguments->values("set")};
  const auto out = arguments->value("out");
  options.gpu = arguments->value("gpu").value_or(options.gpu);
  options.file = out.value_or(options.file);
  std::vector<std::string> bench;
  if (const auto line = arguments->value("bench")) {
    bench = vllm::split_shell(*line);
    if (bench.empty()) throw UsageError("--bench: an empty command");
  }
  const vllm::FromVllm made = vllm::from_vllm(serve, bench, options);
  for (const std::string& flag : made.unmodelled)
    std::fprintf(stderr, "not modelled: %s\n", flag.c_str());
  Outcome outcome{success, made.yaml};
  if (out) {
    report::write_file(*out, made.yaml);
    outcome.output.clear();
  }
  if (arguments->has("strict") && !made.unmodelled.empty()) outcome.exit_code = assert_failed;
  return outcome;
}

}  // namespace tokenline::cli
