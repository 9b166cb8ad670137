#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tokenline::validate {

/// A released version: "0.12.0", "1.2.0rc6.post1", "0.19".
struct EngineVersion {
  int major = 0;
  int minor = 0;

  friend auto operator<=>(const EngineVersion&, const EngineVersion&) = default;
};

/// Reads a version as Python packages write it: two or more numbers with points between, then
/// perhaps "rc6", "a1", "b2", ".post1", ".dev3"; or a build known by its name, "gpt-oss-dev". Empty
/// for any other text.
[[nodiscard]] std::optional<EngineVersion> parse_version(std::string_view text);

/// Why a row with this version of an engine cannot be simulated; empty for one that can. A version
/// that is not stated stands for what the engine's preset is of.
[[nodiscard]] std::string version_mistake(std::string_view engine, std::string_view version);

/// The preset that stands for an engine: "vllm" is vllm-v0 before 0.8, vllm-v1 before 0.14 and
/// where the version is not stated, vllm-v1-async from there on; others are their own. Contract:
/// no version_mistake().
[[nodiscard]] std::string preset_of_engine(const std::string& engine, std::string_view version);

}  // namespace tokenline::validate
