#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calib/sample.hpp"

namespace tokenline::calib {

/// A measured collective.
struct CollectiveSample {
  models::CollectiveOp op = models::CollectiveOp::all_reduce;
  hw::CollectiveImplementation implementation = hw::CollectiveImplementation::nccl;
  std::int64_t gpus = 0;
  Bytes payload;
  Seconds time;
};

/// One attention call over a prefill chunk (none: 0 tokens) and decodes (none: 0).
struct MixedSample {
  std::int64_t chunk = 0;
  std::int64_t past = 0;
  std::int64_t decodes = 0;
  std::int64_t context = 0;  ///< Of each decode.
  Seconds time;
};

/// A row that no model prices, and why.
struct Refused {
  std::string file;
  int line = 0;
  std::string reason;
  Seconds time;
};

/// Everything that a folder of measurements holds.
struct Samples {
  std::vector<Sample> samples;
  std::vector<CollectiveSample> collectives;
  std::vector<MixedSample> mixed;
  std::vector<Refused> refused;
};

/// What becomes of a row whose type, layer or implementation no model prices.
enum class Unknown {
  mistake,  ///< An error at its line: what is fitted must not leave out what was measured.
  refused,  ///< Samples::refused holds it.
};

/// Reads the tables that a folder has (calib/README.md lists them and their columns). What was
/// measured inside an engine replaces what isolated calls of the same kernel, shape and (of two
/// axes) first size took: memory is then as warm as it is in service. Throws config::ConfigError
/// with the mistakes of all tables, for a file *.csv that is none of them, and for a folder without
/// any.
[[nodiscard]] Samples read_samples(const hw::Datasheet& gpu, const std::string& folder,
                                   Unknown unknown = Unknown::mistake);

}  // namespace tokenline::calib
