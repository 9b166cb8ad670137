#pragma once

#include <span>

#include "hwmodels/catalog.hpp"

namespace tokenline::hw {

/// Embedded files of `nodes/`: how the GPUs of a node reach one another, memory and drives.
[[nodiscard]] std::span<const CatalogFile> node_presets();

/// Embedded files of `fabrics/`: what connects nodes.
[[nodiscard]] std::span<const CatalogFile> fabric_presets();

}  // namespace tokenline::hw
