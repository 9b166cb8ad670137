#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "calib/sample.hpp"
#include "calib/samples.hpp"
#include "hwmodels/gpu.hpp"

namespace tokenline::calib {

/// Launch, block overhead and three efficiencies.
inline constexpr std::size_t fitted_constants = 5;

/// Which of the samples of one fit are held out of it: every fifth shape in order, or, of fewer
/// than five shapes, every fifth point.
[[nodiscard]] std::vector<char> held_out(std::span<const Sample> samples);

/// Fits the constants of one kernel's roofline to samples of one variant, and the grid of what they
/// leave. One shape in five is held out of both, and gives the errors; where there are fewer than
/// five shapes, one point in five. The grid returned holds every sample. Constants are rounded to
/// the four digits that catalogs hold. Contract: not empty, all of one kernel and variant.
[[nodiscard]] hw::KernelFit fit_kernel(const hw::Datasheet& gpu, std::span<const Sample> samples);

/// The fits of every kernel in `samples`, in the GPU's own maps. For streaming kernels also
/// "other", the roofline of all of them together, without a grid.
void fit_all(hw::Gpu& gpu, const std::vector<Sample>& samples);

/// One curve per operation, implementation and number of ranks, in that order. A point slower than
/// a larger payload is noise and takes the time of that payload; the error is that of each inner
/// point predicted without it.
[[nodiscard]] std::vector<hw::CollectiveCurve> collective_curves(
    const std::vector<CollectiveSample>& samples);

}  // namespace tokenline::calib
