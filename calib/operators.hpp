#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hwmodels/gpu.hpp"

namespace tokenline::calib {

/// One measured kernel call beside its price.
struct OperatorRow {
  std::string table;  ///< "gemm", "prefill_attention", "collectives all_reduce", ….
  std::string dtype;  ///< Precision or implementation: "bfloat16", "fp8_block balanced", "nccl".
  std::string shape;  ///< "n=4096 k=4096 m=16".
  Seconds measured;
  std::optional<Seconds> predicted;  ///< Empty where the call is refused.
  std::string refused;               ///< Why.
};

/// Prices every row of a folder of measurements (the tables of calib/README.md) on a GPU.
/// Throws config::ConfigError for tables that cannot be read.
[[nodiscard]] std::vector<OperatorRow> price_operators(const hw::Gpu& gpu,
                                                       const std::string& folder);

}  // namespace tokenline::calib
