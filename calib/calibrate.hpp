#pragma once

#include <optional>
#include <string>

namespace tokenline::calib {

/// Fits every kernel model to the measurements in the folder `operators` (calib/README.md lists the
/// tables; each is optional) and returns the text of a complete catalog entry called `gpu_name`:
/// the datasheet file at `datasheet_path` word for word, then the fits with their errors on shapes
/// held out. Without a folder, and for kernels without a table, the entry has no fits, and what
/// such kernels usually reach is used, marked as from the datasheet. The same input gives the same
/// bytes. Throws config::ConfigError for files that cannot be read.
[[nodiscard]] std::string calibrate_to_yaml(const std::string& gpu_name,
                                            const std::optional<std::string>& operators,
                                            const std::string& datasheet_path);

}  // namespace tokenline::calib
