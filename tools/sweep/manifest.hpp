#pragma once

#include <string>
#include <string_view>

#include "tools/sweep/sweep.hpp"

namespace tokenline::sweep {

/// What a folder of results is of, as JSON: the sweep's name, axes and points, but for the paths
/// that only a run needs. The same for every shard.
[[nodiscard]] std::string manifest_json(const Sweep& sweep);

/// The same back. Throws ConfigError at `file` where the text is none, or of another version of
/// Tokenline.
[[nodiscard]] Sweep parse_manifest(const std::string& file, std::string_view json);

/// The name of its sweep alone, of any version. Throws ConfigError likewise.
[[nodiscard]] std::string manifest_sweep(const std::string& file, std::string_view json);

}  // namespace tokenline::sweep
