#pragma once

#include <span>
#include <string_view>

namespace tokenline::vllm {

/// How many values a flag has.
enum class Takes {
  nothing,  ///< A switch, which `--no-<name>` turns off.
  one,
  many,  ///< All words up to the next flag.
};

/// What a flag means for a scenario.
enum class Effect {
  modelled,    ///< It gives a key.
  none,        ///< It lies outside what is simulated, or changes no time.
  unmodelled,  ///< It changes what a run takes, and nothing here does the same.
};

/// A flag of vLLM.
struct Flag {
  std::string_view name;        ///< "max-model-len".
  std::string_view short_name;  ///< "-tp", with its dash; empty for most.
  Takes takes = Takes::one;
  Effect effect = Effect::none;
  std::string_view harmless;  ///< Of an unmodelled one: the value that leaves all as simulated.
};

/// The flags of `vllm serve` and of `vllm bench serve`, by name.
[[nodiscard]] std::span<const Flag> serve_flags();
[[nodiscard]] std::span<const Flag> bench_flags();

/// The flag of that name, or null.
[[nodiscard]] const Flag* find_flag(std::span<const Flag> flags, std::string_view name);

}  // namespace tokenline::vllm
