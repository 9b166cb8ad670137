#pragma once

#include <optional>
#include <string>

#include "sim/config/reader.hpp"
#include "tools/sweep/latin_hypercube.hpp"

namespace tokenline::sweep {

/// Reads `{min: 1/s, max: 50/s, scale: log}` of a key of the scenario. Whole numbers where the key
/// takes only those. Empty after a mistake, which goes to the reader's document.
[[nodiscard]] std::optional<AxisRange> read_range(config::Reader& reader, const std::string& key);

}  // namespace tokenline::sweep
