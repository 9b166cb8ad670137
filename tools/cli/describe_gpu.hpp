#pragma once

#include <string>

namespace tokenline::cli {

/// What is known of a GPU, built in or a file that `calibrate` wrote: its datasheet with sources,
/// then the constants fitted to measured kernel times with their errors on shapes held out. Grids
/// are left out. Throws config::ConfigError.
[[nodiscard]] std::string describe_gpu(const std::string& name_or_path);

}  // namespace tokenline::cli
