#pragma once

#include <string>

#include "sim/config/reader.hpp"
#include "workloads/traffic/lengths.hpp"

namespace tokenline::traffic {

/// A length distribution and the place that says how long it can get.
struct ReadLengths {
  LengthDistribution lengths;
  config::Location where;
  std::string path;
};

/// Reads `key: 200` or `key: {distribution: …, …}`. Mistakes go to the document, those of an
/// empirical file at its own lines; with mistakes the result is some valid distribution.
[[nodiscard]] ReadLengths read_lengths(config::Reader& entry, config::Key key);

}  // namespace tokenline::traffic
