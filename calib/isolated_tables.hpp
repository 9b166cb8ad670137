#pragma once

#include <string>

#include "calib/samples.hpp"

namespace tokenline::calib {

/// Reads the tables of kernels measured by themselves: gemm.csv, prefill_attention.csv,
/// decode_attention.csv, moe.csv, mla_prefill.csv, mla_decode.csv, elementwise.csv and
/// collectives.csv, those that `folder` has. Rows of types that no kernel model prices are counted
/// as refused. Throws config::ConfigError for tables that cannot be read.
[[nodiscard]] Samples read_isolated_tables(const hw::Datasheet& gpu, const std::string& folder);

}  // namespace tokenline::calib
