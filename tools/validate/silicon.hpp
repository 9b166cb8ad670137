#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/validate/row.hpp"

namespace tokenline::validate {

/// What to compare of a file of closed-loop runs.
struct SiliconOptions {
  /// Column and value: rows that have another value are left out. A model may also be named by its
  /// preset, a GPU by its name in the catalog.
  std::vector<std::pair<std::string, std::string>> where;
  std::string protocol;  ///< One for all rows; empty for that of each row's source.
  std::size_t threads = 1;
};

/// The columns of such a file.
[[nodiscard]] const std::vector<std::string_view>& silicon_columns();

/// Simulates every row of a file of mean TTFT and TPOT under a closed loop (the columns of
/// silicon_columns()), each as a run of its own. Throws ConfigError with every mistake of the file.
[[nodiscard]] Comparison compare_silicon(const std::string& file, const SiliconOptions& options);

}  // namespace tokenline::validate
