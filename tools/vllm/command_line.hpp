#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/diagnostic.hpp"
#include "tools/vllm/flags.hpp"

namespace tokenline::vllm {

/// Splits a line as a POSIX shell does: blanks, '…', "…", backslashes, line continuations. Nothing
/// is expanded. Throws ConfigError for a quote that does not end.
[[nodiscard]] std::vector<std::string> split_shell(std::string_view line);

/// A flag as it was given.
struct Given {
  const Flag* flag = nullptr;
  std::vector<std::string> values;
  bool on = true;    ///< Of a switch: not turned off.
  std::string text;  ///< As written, "-tp 4"; says where a key comes from.
};

/// A command line of vLLM, taken apart.
struct CommandLine {
  std::vector<std::pair<std::string, std::string>> environment;  ///< `NAME=value` before it.
  std::vector<std::string> positional;
  std::vector<Given> flags;  ///< In order, those of --config first.

  /// The last one given of that name, or null.
  [[nodiscard]] const Given* find(std::string_view name) const;
};

/// Takes apart what follows `vllm serve` or `vllm bench serve` (or `python -m
/// vllm.entrypoints.openai.api_server`, `python benchmark_serving.py`) by the rules of vLLM's
/// parser: underscores for dashes, `--flag=value`, `--no-flag`, unique beginnings, `-tp 4`, `-O3`,
/// `--flag.key value` of flags in JSON, `--config FILE` in YAML. Throws ConfigError with every
/// unknown flag and missing value, under the name `what`.
[[nodiscard]] CommandLine parse_command(std::span<const std::string> words,
                                        std::span<const Flag> flags, const std::string& what);

/// A mistake in a command line.
[[nodiscard]] config::Diagnostic mistake_in(const std::string& what, const std::string& flag,
                                            std::string message, std::string hint = {});

}  // namespace tokenline::vllm
