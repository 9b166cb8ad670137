#pragma once

#include <cstdint>
#include <span>

#include "hwmodels/network/network.hpp"
#include "sim/base/integer.hpp"
#include "sim/base/quantity.hpp"

namespace tokenline::hw {

/// What moves between two ends for each unit of a copy that has several of them.
struct CopyShare {
  Vertex from;
  Vertex to;
  Bytes bytes;              ///< Above 0.
  std::int64_t pieces = 1;  ///< Contiguous ones.
};

/// A copy of n units takes startup + n · unit.
struct CopyCost {
  Seconds startup;
  Seconds unit;

  [[nodiscard]] Seconds time(std::int64_t units) const { return startup + real(units) * unit; }
};

/// The cost where all shares move at once, at max-min fair rates, and nothing else does: of each
/// unit the share that takes longest, its pieces and then its bytes. That is exact where shares are
/// alike; else the rest would speed up when the first is through. Contract: there is a share.
[[nodiscard]] CopyCost copy_cost(const Network& network, std::span<const CopyShare> shares);

}  // namespace tokenline::hw
