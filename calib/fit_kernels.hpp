#pragma once

#include <string>
#include <vector>

#include "hwmodels/gpu.hpp"

namespace tokenline::calib {

/// Each of these reads one table of measurements (calib/README.md lists the columns), fits the
/// constants of one kernel model to four rows in five, and states the error on the fifth. Constants
/// are rounded to four digits, so that the error is that of the numbers written to a catalog.
/// Throw config::ConfigError for a table that cannot be read.

[[nodiscard]] hw::GemmFit fit_gemm(const hw::Datasheet& gpu, const std::string& path);

/// The measured kernel is what vLLM uses: fa3 on Hopper, fa2 elsewhere.
[[nodiscard]] hw::PrefillFit fit_prefill(const hw::Datasheet& gpu, const std::string& path);

/// `prefill` prices the padded query tiles. Off Hopper only rows whose q heads share kv heads are
/// used: FlashAttention-2 does not split the context of the others.
[[nodiscard]] hw::DecodeFit fit_decode(const hw::Datasheet& gpu, const hw::PrefillFit& prefill,
                                       const std::string& path);

[[nodiscard]] hw::ElementwiseFit fit_elementwise(const hw::Datasheet& gpu, const std::string& path);

/// One curve per number of ranks. A point slower than a larger payload is noise and takes the time
/// of that payload.
[[nodiscard]] std::vector<hw::AllReduceCurve> read_all_reduce(const std::string& path);

}  // namespace tokenline::calib
