#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "hwmodels/gpu.hpp"

namespace tokenline::calib {

/// Writes the coefficients φ of one row's model t = Σ φ_j x_j. Where the model has a max(), they
/// are those of the side that wins at `x`.
using Features =
    std::function<void(std::size_t row, std::span<const double> x, std::span<double> features)>;

/// Non-negative x that minimises the mean of |t − measured| / measured: least absolute deviations
/// by iteratively reweighted non-negative least squares, the sides of each max() chosen anew in
/// every round; the best round wins. At most 8 unknowns. Deterministic: sums run in row order.
[[nodiscard]] std::vector<double> fit_relative(std::span<const double> measured,
                                               std::vector<double> start, const Features& features);

/// Median and 90th percentile of |predicted − measured| / measured; the lists are of equal size and
/// not empty.
[[nodiscard]] hw::FitError relative_error(std::span<const double> predicted,
                                          std::span<const double> measured);

}  // namespace tokenline::calib
