#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/vllm/command_line.hpp"
#include "tools/vllm/keys.hpp"

namespace tokenline::vllm {

/// What commands of vLLM do not say.
struct FromVllmOptions {
  std::string gpu = "h100_sxm";
  /// Keys as `--set` has them, which go over what the commands give.
  std::vector<std::string> overrides = {};
  /// Where the scenario will stand; its data files are named from there.
  std::string file = "scenario.yaml";
};

/// A scenario made of command lines.
struct FromVllm {
  std::string yaml;                     ///< Runs as it is.
  std::vector<std::string> unmodelled;  ///< Flags that nothing here does, each with the reason.
};

/// The scenario of a `vllm serve` command, with the traffic of a `vllm bench serve` command, or of
/// that tool's defaults without one. Every flag is modelled, without effect or named; README.md has
/// them all. Defaults are those of the engine's preset. Throws ConfigError with every unknown flag,
/// value that cannot be meant, and mistake of the scenario itself. Reads the files that the
/// commands name, and nothing else.
[[nodiscard]] FromVllm from_vllm(std::span<const std::string> serve,
                                 std::span<const std::string> bench,
                                 const FromVllmOptions& options);

/// The keys of a server.
void serve_keys(const CommandLine& line, const FromVllmOptions& options, Keys& keys);
/// The keys of the traffic.
void bench_keys(const CommandLine& line, const FromVllmOptions& options, Keys& keys);

/// Names every flag that is not modelled, or says that it changes nothing.
void note_flags(const CommandLine& line, const std::string& what, Keys& keys);

/// A file that the commands name, as a scenario in `options.file` names it.
[[nodiscard]] std::string named_from(const FromVllmOptions& options, const std::string& file);

/// A whole number as vLLM reads it: `8192`, `8k` = 8000, `8K` = 8192, `25.6k`. Empty for anything
/// else.
[[nodiscard]] std::optional<std::int64_t> human_int(const std::string& text);

}  // namespace tokenline::vllm
