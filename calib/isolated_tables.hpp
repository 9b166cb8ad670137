#pragma once

#include "calib/folder.hpp"

namespace tokenline::calib {

/// Reads the tables of kernels measured by themselves: gemm.csv, prefill_attention.csv,
/// decode_attention.csv, moe.csv, mla_prefill.csv, mla_decode.csv, elementwise.csv and
/// collectives.csv, those that the folder has.
void read_isolated_tables(Folder& folder);

}  // namespace tokenline::calib
