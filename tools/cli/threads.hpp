#pragma once

#include <cstddef>

#include "tools/cli/arguments.hpp"

namespace tokenline::cli {

/// The option `--threads N`, 1 … 1024: all processors where it is not given. Throws UsageError.
[[nodiscard]] std::size_t threads(const Arguments& arguments);

}  // namespace tokenline::cli
