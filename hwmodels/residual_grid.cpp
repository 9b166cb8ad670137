#include "hwmodels/residual_grid.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "sim/base/check.hpp"
#include "sim/base/integer.hpp"

namespace tokenline::hw {
namespace {

constexpr double pole = 0.01;    ///< Square octaves; keeps a measured shape's own weight finite.
constexpr double ridge = 0.01;   ///< Holds slopes down where shapes do not determine them.
constexpr double faint = 1e-12;  ///< Weight of shapes however far, so that no point is without any.
constexpr double stretch = 30.0;  ///< Of square distances per square step beyond measured points.
constexpr double most = 0.9;      ///< Of the weight of the shapes, which were measured at a point.
constexpr float unmeasured = std::numeric_limits<float>::quiet_NaN();

double octaves(std::int64_t size) { return std::log2(real(size)); }

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0,
                             ResidualGrid::most_sizes + 1, ResidualGrid::most_sizes + 1>;
using Vector = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, ResidualGrid::most_sizes + 1, 1>;

/// The logarithms of a shape's ratios at every point, and how many steps along the axes the point
/// is from those between measured ones.
struct Surface {
  std::vector<double> log_ratio;
  std::vector<int> steps;
};

/// A measured shape as seen from the one asked for.
struct Neighbour {
  std::vector<double> offset;
  double square = 0.0;  ///< Of the distance, in square octaves.
  Surface surface;

  /// Beyond its measured points a shape is as if further from others, never from itself.
  [[nodiscard]] double weight(std::size_t point) const {
    const double steps = surface.steps[point];
    return (std::exp(-square / 2.0) + faint) / (square * (1.0 + stretch * steps * steps) + pole);
  }
};

/// How much each neighbour counts in the regression's value at offset zero. The intercept of a
/// weighted ridge regression is linear in the values: these are its coefficients.
std::vector<double> blend(const std::vector<Neighbour>& neighbours, std::size_t point) {
  const auto unknowns = static_cast<Eigen::Index>(1 + neighbours.front().offset.size());
  const auto features = [&](const Neighbour& neighbour) {
    Vector row(unknowns);
    row(0) = 1.0;
    for (Eigen::Index i = 1; i < unknowns; ++i)
      row(i) = neighbour.offset[static_cast<std::size_t>(i) - 1];
    return row;
  };
  double total = 0.0;
  for (const Neighbour& neighbour : neighbours) total += neighbour.weight(point);
  Matrix normal = ridge * Matrix::Identity(unknowns, unknowns);
  normal(0, 0) = 0.0;
  for (const Neighbour& neighbour : neighbours) {
    const Vector row = features(neighbour);
    normal += neighbour.weight(point) / total * row * row.transpose();
  }
  const Vector intercept = normal.ldlt().solve(Vector::Unit(unknowns, 0));
  std::vector<double> coefficients;
  for (const Neighbour& neighbour : neighbours)
    coefficients.push_back(neighbour.weight(point) / total * intercept.dot(features(neighbour)));
  return coefficients;
}

/// Fills the gaps between known values of a line, linear in the positions.
void fill_between(std::vector<double>& values, std::size_t first, std::size_t stride,
                  const std::vector<double>& positions) {
  std::size_t last = positions.size();  // Index of the last known value; none yet.
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (std::isnan(values[first + i * stride])) continue;
    for (std::size_t j = last + 1; last < i && j < i; ++j) {
      const double share = (positions[j] - positions[last]) / (positions[i] - positions[last]);
      values[first + j * stride] =
          (1.0 - share) * values[first + last * stride] + share * values[first + i * stride];
    }
    last = i;
  }
}

/// Gives every point without a value that of the nearest points with one: step by step, the mean
/// of those beside it along either axis. Returns the steps. Contract: some value is known.
std::vector<int> fill_beyond(std::vector<double>& values, std::size_t columns) {
  const std::size_t rows = values.size() / columns;
  std::vector<int> steps(values.size(), 0);
  for (int step = 1; std::ranges::any_of(values, [](double v) { return std::isnan(v); }); ++step) {
    const std::vector<double> before = values;
    for (std::size_t p = 0; p < values.size(); ++p) {
      if (!std::isnan(before[p])) continue;
      double sum = 0.0;
      double count = 0.0;
      const auto take = [&](bool there, std::size_t neighbour) {
        if (!there || std::isnan(before[neighbour])) return;
        sum += before[neighbour];
        count += 1.0;
      };
      take(p % columns > 0, p - 1);
      take(p % columns + 1 < columns, p + 1);
      take(p / columns > 0, p - columns);
      take(p / columns + 1 < rows, p + columns);
      if (count == 0.0) continue;
      values[p] = sum / count;
      steps[p] = step;
    }
  }
  return steps;
}

std::vector<double> positions_of(const GridAxis& axis) {
  std::vector<double> positions;
  for (const std::int64_t value : axis.values) positions.push_back(octaves(value));
  return positions;
}

Surface surface_of(const std::vector<float>& measured, const std::vector<GridAxis>& axes) {
  Surface surface{{measured.begin(), measured.end()}, {}};
  std::vector<double>& values = surface.log_ratio;
  const std::vector<double> rows = positions_of(axes[0]);
  const std::size_t columns = values.size() / rows.size();
  if (columns > 1)
    for (std::size_t r = 0; r < rows.size(); ++r)
      fill_between(values, r * columns, 1, positions_of(axes[1]));
  for (std::size_t c = 0; c < columns; ++c) fill_between(values, c, columns, rows);
  surface.steps = fill_beyond(values, columns);
  return surface;
}

Neighbour neighbour(const std::vector<double>& position, const std::vector<double>& target,
                    Surface surface) {
  Neighbour neighbour;
  neighbour.surface = std::move(surface);
  for (std::size_t i = 0; i < target.size(); ++i) {
    neighbour.offset.push_back(position[i] - target[i]);
    neighbour.square += neighbour.offset[i] * neighbour.offset[i];
  }
  return neighbour;
}

/// Whether the shapes with a measured `point` surround the one asked for: it lies within their
/// sizes, no more than `reach` from one of them, and hardly any weight is with the others.
bool surrounded(const std::vector<Neighbour>& neighbours, std::size_t point) {
  std::vector<double> low(neighbours.front().offset.size(), 1.0);
  std::vector<double> high(low.size(), -1.0);
  double all = 0.0;
  double measured = 0.0;
  bool near = false;
  for (const Neighbour& neighbour : neighbours) {
    all += neighbour.weight(point);
    if (neighbour.surface.steps[point] > 0) continue;
    measured += neighbour.weight(point);
    near = near || neighbour.square <= ResidualGrid::reach * ResidualGrid::reach;
    for (std::size_t i = 0; i < low.size(); ++i) {
      low[i] = std::min(low[i], neighbour.offset[i]);
      high[i] = std::max(high[i], neighbour.offset[i]);
    }
  }
  return near && measured >= most * all &&
         std::ranges::all_of(low, [](double l) { return l <= 0.0; }) &&
         std::ranges::all_of(high, [](double h) { return h >= 0.0; });
}

/// At which points the shape asked for counts as measured: a known shape where it was itself,
/// another where those around it were.
std::vector<char> measured_points(const std::vector<Neighbour>& neighbours) {
  const auto same = std::ranges::find(neighbours, 0.0, &Neighbour::square);
  std::vector<char> measured;
  for (std::size_t p = 0; p < neighbours.front().surface.steps.size(); ++p) {
    const bool known =
        same != neighbours.end() ? same->surface.steps[p] == 0 : surrounded(neighbours, p);
    measured.push_back(known ? 1 : 0);
  }
  return measured;
}

/// The logarithms of the ratios at the shape asked for. Points at which every shape is as many
/// steps from its measured ones share coefficients.
std::vector<double> blended(const std::vector<Neighbour>& neighbours) {
  std::map<std::vector<int>, std::vector<double>> blends;
  std::vector<double> log_ratio;
  for (std::size_t p = 0; p < neighbours.front().surface.steps.size(); ++p) {
    std::vector<int> steps;
    for (const Neighbour& neighbour : neighbours) steps.push_back(neighbour.surface.steps[p]);
    const auto [found, fresh] = blends.try_emplace(std::move(steps));
    if (fresh) found->second = blend(neighbours, p);
    double sum = 0.0;
    for (std::size_t s = 0; s < neighbours.size(); ++s)
      sum += found->second[s] * neighbours[s].surface.log_ratio[p];
    log_ratio.push_back(sum);
  }
  return log_ratio;
}

}  // namespace

ResidualGrid::ResidualGrid(std::vector<std::string> shape_names, std::vector<GridAxis> axes)
    : shape_names_(std::move(shape_names)), axes_(std::move(axes)) {
  TOKENLINE_CHECK(!shape_names_.empty() && shape_names_.size() <= most_sizes &&
                      (axes_.size() == 1 || axes_.size() == 2),
                  "{} sizes of a shape, {} axes", shape_names_.size(), axes_.size());
}

std::size_t ResidualGrid::points() const {
  return axes_[0].values.size() * (axes_.size() == 2 ? axes_[1].values.size() : 1);
}

ResidualGrid::Shape& ResidualGrid::shape_of(std::span<const std::int64_t> sizes) {
  const auto found = std::ranges::find_if(
      shapes_, [&](const Shape& shape) { return std::ranges::equal(shape.sizes, sizes); });
  if (found != shapes_.end()) return *found;
  Shape shape{{sizes.begin(), sizes.end()}, {}, {}, {}};
  for (const std::int64_t size : sizes) shape.position.push_back(octaves(size));
  shape.log_ratio.assign(points(), unmeasured);
  shape.samples.assign(points(), 0);
  return shapes_.emplace_back(std::move(shape));
}

void ResidualGrid::add(std::span<const std::int64_t> shape, std::span<const std::int64_t> point,
                       double ratio) {
  TOKENLINE_CHECK(
      shape.size() == shape_names_.size() && point.size() == axes_.size() && ratio > 0.0,
      "a ratio of {} with {} sizes at {} axes", ratio, shape.size(), point.size());
  std::size_t index = 0;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    const auto& values = axes_[a].values;
    const auto found = std::ranges::lower_bound(values, point[a]);
    TOKENLINE_CHECK(found != values.end() && *found == point[a], "{} is not on the axis {}",
                    point[a], axes_[a].name);
    index = index * values.size() + static_cast<std::size_t>(found - values.begin());
  }
  Shape& target = shape_of(shape);
  const auto value = static_cast<float>(std::log(ratio));
  float& stored = target.log_ratio[index];
  const auto before = static_cast<float>(target.samples[index]++);
  stored = before == 0.0F ? value : (stored * before + value) / (before + 1.0F);
}

GridSlice ResidualGrid::slice(std::span<const std::int64_t> shape) const {
  TOKENLINE_CHECK(shape.size() == shape_names_.size(), "{} sizes of a shape of {}", shape.size(),
                  shape_names_.size());
  GridSlice slice;
  if (shapes_.empty()) return slice;
  std::vector<double> target;
  bool inside = true;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto position = [&](const Shape& s) { return s.position[i]; };
    const auto [low, high] = std::ranges::minmax(shapes_, {}, position);
    const double asked = octaves(shape[i]);
    target.push_back(std::clamp(asked, low.position[i], high.position[i]));
    inside = inside && target.back() == asked;
  }
  std::vector<Neighbour> neighbours;
  for (const Shape& known : shapes_)
    neighbours.push_back(neighbour(known.position, target, surface_of(known.log_ratio, axes_)));
  slice.log_ratio_ = blended(neighbours);
  slice.measured_.assign(points(), 0);
  if (inside) slice.measured_ = measured_points(neighbours);
  slice.x_.positions = positions_of(axes_[0]);
  slice.y_.positions = axes_.size() == 2 ? positions_of(axes_[1]) : std::vector<double>{0.0};
  return slice;
}

GridSlice::Place GridSlice::find(const Axis& axis, double value) {
  const auto& positions = axis.positions;
  const double position = std::log2(value);
  if (positions.size() == 1 || position <= positions.front())
    return {0, 0.0, position == positions.front()};
  if (position >= positions.back())
    return {positions.size() - 2, 1.0, position <= positions.back()};
  const auto upper = std::ranges::upper_bound(positions, position);
  const auto lower = static_cast<std::size_t>(upper - positions.begin()) - 1;
  return {lower, (position - positions[lower]) / (positions[lower + 1] - positions[lower]), true};
}

Correction GridSlice::at(std::span<const std::int64_t> point) const {
  return at(real(point[0]), point.size() == 1 ? 1.0 : real(point[1]));
}

Correction GridSlice::at(double x, double y) const {
  if (log_ratio_.empty()) return {};
  const Place row = find(x_, x);
  const Place column = find(y_, y);
  const std::size_t columns = y_.positions.size();
  double sum = 0.0;
  bool measured = row.inside && column.inside;
  for (const bool lower_row : {true, false}) {
    const double row_share = lower_row ? 1.0 - row.share : row.share;
    if (row_share == 0.0) continue;
    for (const bool lower_column : {true, false}) {
      const double share = row_share * (lower_column ? 1.0 - column.share : column.share);
      if (share == 0.0) continue;
      const std::size_t point =
          (row.lower + (lower_row ? 0 : 1)) * columns + column.lower + (lower_column ? 0 : 1);
      sum += share * log_ratio_[point];
      measured = measured && measured_[point] != 0;
    }
  }
  return {std::exp(sum), measured};
}

}  // namespace tokenline::hw
