#pragma once

#include <string>

namespace tokenline::calib {

/// Fits every kernel model to the measurements in the folder `operators` (gemm.csv,
/// prefill_attention.csv, decode_attention.csv, elementwise.csv, collectives.csv; calib/README.md
/// lists their columns) and returns the text of a complete catalog entry called `gpu_name`: the
/// datasheet file at `datasheet_path` word for word, then the fits with their errors on rows held
/// out. The same input gives the same bytes. Throws config::ConfigError for files that cannot be
/// read.
[[nodiscard]] std::string calibrate_to_yaml(const std::string& gpu_name,
                                            const std::string& operators,
                                            const std::string& datasheet_path);

}  // namespace tokenline::calib
