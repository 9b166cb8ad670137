#pragma once

#include <span>
#include <string_view>

namespace tokenline::plan::embedded {

struct File {
  std::string_view name;
  std::string_view text;
};

/// prices.yaml.
[[nodiscard]] std::span<const File> files();

}  // namespace tokenline::plan::embedded
