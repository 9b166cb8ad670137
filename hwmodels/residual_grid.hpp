#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tokenline::hw {

/// Sizes along which every shape of a grid was measured, ascending: "m", "batch", "length".
struct GridAxis {
  std::string name;
  std::vector<std::int64_t> values;
};

/// What measurements say at one point: measured time over the fitted model's.
struct Correction {
  double factor = 1.0;
  bool on_grid = false;  ///< Between measured points in every direction.
};

class GridSlice;

/// A mistake in the text of a grid, at a line that counts from 1.
class GridTextError : public std::invalid_argument {
 public:
  GridTextError(std::size_t line, const std::string& message)
      : std::invalid_argument(message), line_(line) {}
  [[nodiscard]] std::size_t line() const { return line_; }

 private:
  std::size_t line_;
};

/// Measured time over the time that a fitted roofline gives, for many shapes of a kernel: the
/// efficiency that tile counts, heuristics and libraries leave and no short formula catches. A
/// shape is a point in the logarithms of its sizes ("n", "k"); each holds a ratio per point of the
/// axes, linear in logarithms between its measured points; beyond them its last ones hold. Between
/// shapes the logarithm is a local linear regression weighted exp(−d²/2) / (d²(1 + 30 s²) + 0.01)
/// at d octaves, s steps beyond what a neighbour was measured at: a known shape keeps its ratio.
class ResidualGrid {
 public:
  /// One or two axes.
  ResidualGrid(std::vector<std::string> shape_names, std::vector<GridAxis> axes);

  /// Reads the text that to_text() writes. Throws GridTextError.
  [[nodiscard]] static ResidualGrid from_text(std::string_view text);
  /// A line of shape names, one per axis, then one per shape: its sizes, a colon, and per point of
  /// the axes (the last one running fastest) the ratio in thousandths, '-' where nothing was
  /// measured.
  [[nodiscard]] std::string to_text() const;

  /// Adds one measured ratio; a point met twice keeps the mean of its logarithms. The sizes must
  /// lie on the axes.
  void add(std::span<const std::int64_t> shape, std::span<const std::int64_t> point, double ratio);

  /// The ratios of one shape. On the grid are a known shape between its own measured points, and
  /// one that others measured there surround, one of them within `reach` octaves.
  [[nodiscard]] GridSlice slice(std::span<const std::int64_t> shape) const;

  [[nodiscard]] const std::vector<std::string>& shape_names() const { return shape_names_; }
  [[nodiscard]] const std::vector<GridAxis>& axes() const { return axes_; }
  [[nodiscard]] std::size_t shapes() const { return shapes_.size(); }

  static constexpr double reach = 1.0;  ///< Octaves.
  static constexpr int most_sizes = 7;  ///< Of a shape.

 private:
  struct Shape {
    std::vector<std::int64_t> sizes;
    std::vector<double> position;  ///< log2 of the sizes.
    std::vector<float> log_ratio;  ///< NaN where unmeasured.
    std::vector<std::uint16_t> samples;
  };

  [[nodiscard]] std::size_t points() const;
  Shape& shape_of(std::span<const std::int64_t> sizes);

  std::vector<std::string> shape_names_;
  std::vector<GridAxis> axes_;
  std::vector<Shape> shapes_;
};

/// A grid at one shape: what a look-up in a simulation costs O(log of an axis).
class GridSlice {
 public:
  GridSlice() = default;

  /// Linear in the logarithms along the axes; constant beyond their ends, off the grid there. A
  /// slice of no grid is 1, off the grid.
  [[nodiscard]] Correction at(double x) const { return at(x, 1.0); }
  [[nodiscard]] Correction at(double x, double y) const;
  /// The same at a point of all axes.
  [[nodiscard]] Correction at(std::span<const std::int64_t> point) const;

 private:
  friend class ResidualGrid;
  struct Axis {
    std::vector<double> positions;  ///< log2 of the sizes.
  };
  struct Place {
    std::size_t lower = 0;
    double share = 0.0;  ///< Of the upper neighbour.
    bool inside = false;
  };
  [[nodiscard]] static Place find(const Axis& axis, double value);

  Axis x_;
  Axis y_;  ///< One position where the grid has one axis.
  std::vector<double> log_ratio_;
  std::vector<char> measured_;
};

}  // namespace tokenline::hw
