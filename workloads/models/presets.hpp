#pragma once

#include <span>
#include <string_view>

namespace tokenline::models {

/// A config.json embedded in the binary: "llama-2-70b" and its text.
struct Preset {
  std::string_view name;
  std::string_view json;
};

/// All embedded presets.
[[nodiscard]] std::span<const Preset> presets();

}  // namespace tokenline::models
