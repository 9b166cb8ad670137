#pragma once

#include <string>

#include "tools/validate/row.hpp"

namespace tokenline::validate {

/// Compares every measured kernel call in a folder (the tables of calib/README.md) with its price
/// on a GPU of the catalog, by table and precision. Throws ConfigError.
[[nodiscard]] Comparison compare_operators(const std::string& folder, const std::string& gpu);

}  // namespace tokenline::validate
