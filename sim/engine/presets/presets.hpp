#pragma once

#include <span>
#include <string_view>

namespace tokenline::presets {

/// An engine preset embedded in the binary: "vllm-v1" and its YAML.
struct File {
  std::string_view name;
  std::string_view text;
};

[[nodiscard]] std::span<const File> files();

}  // namespace tokenline::presets
