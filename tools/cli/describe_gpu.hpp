#pragma once

#include <string>

namespace tokenline::cli {

/// What is known of a built-in GPU: its datasheet with sources, then the constants fitted to
/// measured kernel times with their errors on shapes held out. Grids are left out.
[[nodiscard]] std::string describe_gpu(const std::string& name);

}  // namespace tokenline::cli
