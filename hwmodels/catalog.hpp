#pragma once

#include <span>
#include <string_view>

namespace tokenline::hw {

/// A catalog file embedded in the binary: "h100_sxm" and its text.
struct CatalogFile {
  std::string_view name;
  std::string_view yaml;
};

/// All embedded catalog files.
[[nodiscard]] std::span<const CatalogFile> catalog();

}  // namespace tokenline::hw
