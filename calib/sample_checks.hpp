#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "calib/sample.hpp"
#include "calib/samples.hpp"
#include "hwmodels/gpu.hpp"

namespace tokenline::calib {

/// Samples by kernel and variant, each group in the order of its rows: what one fit is made of.
struct SampleGroup {
  Kernel kernel = Kernel::gemm;
  std::string variant;
  std::vector<Sample> samples;
};
[[nodiscard]] std::vector<SampleGroup> grouped(const std::vector<Sample>& samples);

/// Refuses measurements that no entry can be made of: sizes below 1 or beyond 2^40, variants that
/// no step asks for, too few points to fit the constants and to tell their error, and times that
/// the datasheet does not allow, by more than a tenth: FLOPs faster than at peak, or data that no
/// cache holds faster than HBM. Throws config::ConfigError with all of them, in the name of
/// `folder`.
void check_samples(const hw::Datasheet& gpu, const Samples& samples, const std::string& folder);

}  // namespace tokenline::calib
