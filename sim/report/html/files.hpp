#pragma once

#include <span>
#include <string_view>

namespace tokenline::report::html {

/// A file of this folder, embedded in the binary: its name without extension, and its bytes.
struct File {
  std::string_view name;
  std::string_view text;
};

[[nodiscard]] std::span<const File> files();

}  // namespace tokenline::report::html
