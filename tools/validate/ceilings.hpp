#pragma once

#include <span>
#include <string_view>

namespace tokenline::validate::embedded {

struct File {
  std::string_view name;
  std::string_view text;
};

/// ceilings.yaml.
[[nodiscard]] std::span<const File> files();

}  // namespace tokenline::validate::embedded
