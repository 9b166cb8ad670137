#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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

/// Rows of a file that no model prices, and why.
struct Refused {
  std::string file;
  std::string reason;
  std::int64_t rows = 0;
};

/// Everything that a folder of measurements holds.
struct Samples {
  std::vector<Sample> samples;
  std::vector<CollectiveSample> collectives;
  std::vector<MixedSample> mixed;
  std::vector<Refused> refused;
  int tables = 0;  ///< Files that were read.

  /// The path of a table, counted, if the folder has it.
  [[nodiscard]] std::optional<std::string> find(const std::string& folder, const std::string& file);
  /// Counts a row of `file` that no model prices.
  void refuse(std::string_view file, std::string_view reason);
};

/// Reads the tables that a folder has (calib/README.md lists them and their columns). What was
/// measured inside an engine replaces what isolated calls of the same kernel, shape and (of two
/// axes) first size took: memory is then as warm as it is in service. Throws config::ConfigError
/// for tables that cannot be read and for a folder without any.
[[nodiscard]] Samples read_samples(const hw::Datasheet& gpu, const std::string& folder);

}  // namespace tokenline::calib
