#include "hwmodels/residual_grid.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>

#include "sim/base/check.hpp"
#include "sim/base/integer.hpp"

namespace tokenline::hw {
namespace {

constexpr double pole = 0.01;    ///< Square octaves; keeps a measured shape's own weight finite.
constexpr double ridge = 0.01;   ///< Holds slopes down where shapes do not determine them.
constexpr double faint = 1e-12;  ///< Weight of shapes however far, so that no point is without any.
constexpr float unmeasured = std::numeric_limits<float>::quiet_NaN();

double octaves(std::int64_t size) { return std::log2(real(size)); }

constexpr int most_unknowns = 8;  ///< A shape has at most 7 sizes.
using Matrix =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, most_unknowns, most_unknowns>;
using Vector = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, most_unknowns, 1>;

/// A shape's offset from the one asked for, and its weight.
struct Neighbour {
  std::vector<double> offset;
  double weight = 0.0;
};

/// How much each neighbour with a value counts in the regression's value at offset zero. The
/// intercept of a weighted ridge regression is linear in the values: these are its coefficients.
std::vector<double> blend(const std::vector<Neighbour>& neighbours, const std::vector<char>& has) {
  const auto unknowns = static_cast<Eigen::Index>(1 + neighbours.front().offset.size());
  const auto features = [&](const Neighbour& neighbour) {
    Vector row(unknowns);
    row(0) = 1.0;
    for (Eigen::Index i = 1; i < unknowns; ++i)
      row(i) = neighbour.offset[static_cast<std::size_t>(i) - 1];
    return row;
  };
  double total = 0.0;
  for (std::size_t s = 0; s < neighbours.size(); ++s)
    if (has[s] != 0) total += neighbours[s].weight;
  Matrix normal = ridge * Matrix::Identity(unknowns, unknowns);
  normal(0, 0) = 0.0;
  for (std::size_t s = 0; s < neighbours.size(); ++s) {
    if (has[s] == 0) continue;
    const Vector row = features(neighbours[s]);
    normal += neighbours[s].weight / total * row * row.transpose();
  }
  const Vector intercept = normal.ldlt().solve(Vector::Unit(unknowns, 0));
  std::vector<double> coefficients(neighbours.size(), 0.0);
  for (std::size_t s = 0; s < neighbours.size(); ++s)
    if (has[s] != 0)
      coefficients[s] = neighbours[s].weight / total * intercept.dot(features(neighbours[s]));
  return coefficients;
}

/// Words of a line, separated by spaces.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == std::string_view::npos) return words;
    const std::size_t end = std::min(line.find(' ', begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    line.remove_prefix(end);
  }
}

std::int64_t whole(std::string_view word, std::size_t line) {
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (failure != std::errc() || end != word.data() + word.size() || value < 1)
    throw std::invalid_argument(
        fmt::format("grid line {}: '{}' is not a positive whole number", line, word));
  return value;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

GridAxis axis_of(const std::vector<std::string_view>& words, std::size_t line) {
  GridAxis axis{std::string(words.at(1)), {}};
  for (std::size_t i = 2; i < words.size(); ++i) axis.values.push_back(whole(words[i], line));
  if (axis.values.empty() ||
      std::ranges::adjacent_find(axis.values, std::greater_equal<>()) != axis.values.end())
    throw std::invalid_argument(fmt::format("grid line {}: an axis must rise", line));
  return axis;
}

}  // namespace

ResidualGrid::ResidualGrid(std::vector<std::string> shape_names, std::vector<GridAxis> axes)
    : shape_names_(std::move(shape_names)), axes_(std::move(axes)) {
  TOKENLINE_CHECK(!shape_names_.empty() && shape_names_.size() < most_unknowns &&
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

std::string ResidualGrid::to_text() const {
  std::string text = fmt::format("shape {}\n", fmt::join(shape_names_, " "));
  for (const GridAxis& axis : axes_)
    text += fmt::format("axis {} {}\n", axis.name, fmt::join(axis.values, " "));
  for (const Shape& shape : shapes_) {
    text += fmt::format("{} :", fmt::join(shape.sizes, " "));
    for (const float value : shape.log_ratio) {
      if (std::isnan(value))
        text += " -";
      else
        text += fmt::format(" {}", std::max(1L, std::lround(1000.0 * std::exp(double{value}))));
    }
    text += '\n';
  }
  return text;
}

ResidualGrid ResidualGrid::from_text(std::string_view text) {
  const auto lines = lines_of(text);
  std::vector<std::string> names;
  std::vector<GridAxis> axes;
  std::size_t next = 0;
  for (; next < lines.size(); ++next) {
    const auto words = words_of(lines[next]);
    if (words.size() >= 2 && words[0] == "shape" && next == 0)
      names.assign(words.begin() + 1, words.end());
    else if (words.size() >= 3 && words[0] == "axis")
      axes.push_back(axis_of(words, next + 1));
    else
      break;
  }
  if (names.empty() || axes.empty() || axes.size() > 2)
    throw std::invalid_argument("a grid begins with a line 'shape …' and one or two 'axis …'");
  ResidualGrid grid(std::move(names), std::move(axes));
  for (; next < lines.size(); ++next) {
    const auto words = words_of(lines[next]);
    const std::size_t sizes = grid.shape_names_.size();
    if (words.size() != sizes + 1 + grid.points() || words[sizes] != ":")
      throw std::invalid_argument(fmt::format(
          "grid line {}: {} sizes, a colon and {} ratios wanted", next + 1, sizes, grid.points()));
    std::vector<std::int64_t> shape;
    for (std::size_t i = 0; i < sizes; ++i) shape.push_back(whole(words[i], next + 1));
    const std::size_t known = grid.shapes_.size();
    Shape& target = grid.shape_of(shape);
    if (grid.shapes_.size() == known)
      throw std::invalid_argument(fmt::format("grid line {}: this shape is given twice", next + 1));
    for (std::size_t i = 0; i < grid.points(); ++i) {
      const std::string_view word = words[sizes + 1 + i];
      if (word == "-") continue;
      target.log_ratio[i] =
          static_cast<float>(std::log(static_cast<double>(whole(word, next + 1)) / 1000.0));
      target.samples[i] = 1;
    }
  }
  return grid;
}

namespace {

/// Fills unmeasured points from the nearest measured one before them on the second axis, else
/// after, else along the first axis.
void fill_gaps(std::vector<double>& values, const std::vector<char>& measured, std::size_t rows,
               std::size_t columns) {
  std::vector<char> has(measured);
  const auto take = [&](std::size_t to, std::size_t from) {
    if (has[to] != 0 || has[from] == 0) return;
    values[to] = values[from];
    has[to] = 1;
  };
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 1; c < columns; ++c) take(r * columns + c, r * columns + c - 1);
    for (std::size_t c = columns; c-- > 1;) take(r * columns + c - 1, r * columns + c);
  }
  for (std::size_t c = 0; c < columns; ++c) {
    for (std::size_t r = 1; r < rows; ++r) take(r * columns + c, (r - 1) * columns + c);
    for (std::size_t r = rows; r-- > 1;) take((r - 1) * columns + c, r * columns + c);
  }
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

std::vector<double> positions_of(const GridAxis& axis) {
  std::vector<double> positions;
  for (const std::int64_t value : axis.values) positions.push_back(octaves(value));
  return positions;
}

}  // namespace

std::vector<double> ResidualGrid::filled(const Shape& shape) const {
  std::vector<double> values(shape.log_ratio.begin(), shape.log_ratio.end());
  const std::vector<double> rows = positions_of(axes_[0]);
  const std::size_t columns = points() / rows.size();
  if (columns > 1)
    for (std::size_t r = 0; r < rows.size(); ++r)
      fill_between(values, r * columns, 1, positions_of(axes_[1]));
  for (std::size_t c = 0; c < columns; ++c) fill_between(values, c, columns, rows);
  return values;
}

GridSlice ResidualGrid::slice(std::span<const std::int64_t> shape) const {
  TOKENLINE_CHECK(shape.size() == shape_names_.size(), "{} sizes of a shape of {}", shape.size(),
                  shape_names_.size());
  GridSlice slice;
  if (shapes_.empty()) return slice;
  const std::size_t sizes = shape.size();
  std::vector<double> target(sizes);
  double outside = 0.0;
  for (std::size_t i = 0; i < sizes; ++i) {
    const auto position = [&](const Shape& s) { return s.position[i]; };
    const auto [low, high] = std::ranges::minmax(shapes_, {}, position);
    const double asked = octaves(shape[i]);
    target[i] = std::clamp(asked, low.position[i], high.position[i]);
    outside = std::max(outside, std::abs(asked - target[i]));
  }
  std::vector<Neighbour> neighbours;
  double nearest = std::numeric_limits<double>::infinity();
  for (const Shape& known : shapes_) {
    Neighbour neighbour;
    double square = 0.0;
    for (std::size_t i = 0; i < sizes; ++i) {
      neighbour.offset.push_back(known.position[i] - target[i]);
      square += neighbour.offset[i] * neighbour.offset[i];
    }
    neighbour.weight = (std::exp(-square / 2.0) + faint) / (square + pole);
    nearest = std::min(nearest, square);
    neighbours.push_back(std::move(neighbour));
  }
  slice.near_ = outside == 0.0 && nearest <= reach * reach;
  slice.log_ratio_.assign(points(), 0.0);
  slice.measured_.assign(points(), 0);
  // Points measured for the same shapes share coefficients.
  std::map<std::vector<char>, std::vector<double>> blends;
  std::vector<std::vector<double>> known_ratios;
  for (const Shape& known : shapes_) known_ratios.push_back(filled(known));
  for (std::size_t p = 0; p < points(); ++p) {
    std::vector<char> has;
    for (const auto& ratios : known_ratios) has.push_back(std::isnan(ratios[p]) ? 0 : 1);
    if (std::ranges::find(has, 1) == has.end()) continue;
    const auto [found, fresh] = blends.try_emplace(has);
    if (fresh) found->second = blend(neighbours, has);
    double sum = 0.0;
    for (std::size_t s = 0; s < shapes_.size(); ++s)
      if (has[s] != 0) sum += found->second[s] * known_ratios[s][p];
    slice.log_ratio_[p] = sum;
    slice.measured_[p] = 1;
  }
  slice.x_.positions = positions_of(axes_[0]);
  slice.y_.positions = axes_.size() == 2 ? positions_of(axes_[1]) : std::vector<double>{0.0};
  fill_gaps(slice.log_ratio_, slice.measured_, slice.x_.positions.size(),
            slice.y_.positions.size());
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
  bool measured = near_ && row.inside && column.inside;
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
