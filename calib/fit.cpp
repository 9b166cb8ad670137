#include "calib/fit.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"

namespace tokenline::calib {
namespace {

constexpr std::size_t max_unknowns = 8;
constexpr int rounds = 60;
/// Below this relative error a row's weight stops growing.
constexpr double smallest_residual = 0.01;

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 8, 8>;
using Vector = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, 8, 1>;

/// Normal equations of a weighted least-squares problem.
struct Normal {
  Matrix a;
  Vector b;
};

/// min xᵀAx − 2bᵀx over x ≥ 0: of all subsets of unknowns whose free minimum is non-negative, the
/// best. Exponential in the unknowns, which are few.
Vector solve_non_negative(const Normal& normal) {
  const auto size = static_cast<std::size_t>(normal.b.size());
  Vector best = Vector::Zero(normal.b.size());
  double least = 0.0;
  for (unsigned subset = 1; subset < (1U << size); ++subset) {
    std::vector<Eigen::Index> chosen;
    for (std::size_t j = 0; j < size; ++j)
      if ((subset >> j & 1U) != 0) chosen.push_back(static_cast<Eigen::Index>(j));
    const Matrix a = normal.a(chosen, chosen);
    const Vector b = normal.b(chosen);
    const Vector x = a.ldlt().solve(b);
    if (!x.allFinite() || (x.array() < 0.0).any()) continue;
    const double value = x.dot(a * x) - 2.0 * b.dot(x);
    if (value >= least) continue;
    least = value;
    best.setZero();
    for (std::size_t j = 0; j < chosen.size(); ++j)
      best(chosen[j]) = x(static_cast<Eigen::Index>(j));
  }
  return best;
}

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0.0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
  return sum;
}

/// The normal equations of one round at `x`, and the mean relative error there.
struct Round {
  Normal normal;
  double mean_error = 0.0;
};

Round assemble(std::span<const double> measured, std::span<const double> x,
               const Features& features) {
  const auto size = static_cast<Eigen::Index>(x.size());
  Round round{{Matrix::Zero(size, size), Vector::Zero(size)}, 0.0};
  std::vector<double> phi(x.size());
  for (std::size_t i = 0; i < measured.size(); ++i) {
    features(i, x, phi);
    for (double& value : phi) value /= measured[i];
    const double error = std::abs(dot(phi, x) - 1.0);
    round.mean_error += error / static_cast<double>(measured.size());
    const double weight = 1.0 / std::max(error, smallest_residual);
    for (Eigen::Index j = 0; j < size; ++j) {
      const double scaled = weight * phi[static_cast<std::size_t>(j)];
      round.normal.b(j) += scaled;
      for (Eigen::Index l = 0; l < size; ++l)
        round.normal.a(j, l) += scaled * phi[static_cast<std::size_t>(l)];
    }
  }
  return round;
}

/// Unknowns differ by ten orders of magnitude (seconds and shares): scaled to a unit diagonal.
Vector solve_scaled(Normal normal) {
  Vector scale = normal.a.diagonal();
  for (double& value : scale) value = value > 0.0 ? 1.0 / std::sqrt(value) : 0.0;
  normal.a = scale.asDiagonal() * normal.a * scale.asDiagonal();
  normal.b = scale.asDiagonal() * normal.b;
  return scale.asDiagonal() * solve_non_negative(normal);
}

}  // namespace

std::vector<double> fit_relative(std::span<const double> measured, std::vector<double> start,
                                 const Features& features) {
  TOKENLINE_CHECK(start.size() <= max_unknowns && !measured.empty(), "{} unknowns, {} rows",
                  start.size(), measured.size());
  std::vector<double> x = std::move(start);
  std::vector<double> best = x;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < rounds; ++i) {
    const Round round = assemble(measured, x, features);
    if (round.mean_error < least) {
      least = round.mean_error;
      best = x;
    }
    const Vector next = solve_scaled(round.normal);
    // Halfway steps: full ones let rows swap sides of a max() for ever.
    for (std::size_t j = 0; j < x.size(); ++j)
      x[j] = 0.5 * (x[j] + next(static_cast<Eigen::Index>(j)));
  }
  return best;
}

hw::FitError relative_error(std::span<const double> predicted, std::span<const double> measured) {
  TOKENLINE_CHECK(!predicted.empty() && predicted.size() == measured.size(),
                  "{} predictions of {} rows", predicted.size(), measured.size());
  std::vector<double> errors;
  for (std::size_t i = 0; i < predicted.size(); ++i)
    errors.push_back(std::abs(predicted[i] - measured[i]) / measured[i]);
  std::ranges::sort(errors);
  return {errors[errors.size() / 2], errors[errors.size() * 9 / 10]};
}

}  // namespace tokenline::calib
