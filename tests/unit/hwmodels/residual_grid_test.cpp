#include "hwmodels/residual_grid.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>

#include "sim/base/check.hpp"

using namespace tokenline;
using Catch::Contains;
using hw::ResidualGrid;

namespace {

using Sizes = std::vector<std::int64_t>;

/// One size of a shape, one axis, one point: m = 1.
ResidualGrid one_point(const std::vector<std::pair<std::int64_t, double>>& ratios) {
  ResidualGrid grid({"n"}, {{"m", {1}}});
  const Sizes point{1};
  for (const auto& [n, ratio] : ratios) grid.add(Sizes{n}, point, ratio);
  return grid;
}

double at(const ResidualGrid& grid, const Sizes& shape, double x) {
  return grid.slice(shape).at(x).factor;
}

}  // namespace

TEST_CASE("a lone shape keeps its ratios at every measured point", "[hwmodels]") {
  ResidualGrid grid({"n", "k"}, {{"m", {1, 4, 16}}});
  const Sizes shape{100, 200};
  grid.add(shape, Sizes{1}, 0.8);
  grid.add(shape, Sizes{4}, 1.0);
  grid.add(shape, Sizes{16}, 1.5);
  CHECK(at(grid, shape, 1) == Approx(0.8));
  CHECK(at(grid, shape, 4) == Approx(1.0));
  CHECK(at(grid, shape, 16) == Approx(1.5));
}

TEST_CASE("a measured shape keeps its own ratio among others within a hundredth", "[hwmodels]") {
  const ResidualGrid grid = one_point({{64, 0.9}, {128, 1.1}, {256, 0.95}, {1024, 1.2}});
  CHECK(at(grid, {64}, 1) == Approx(0.9).epsilon(0.01));
  CHECK(at(grid, {128}, 1) == Approx(1.1).epsilon(0.01));
  CHECK(at(grid, {256}, 1) == Approx(0.95).epsilon(0.01));
  CHECK(at(grid, {1024}, 1) == Approx(1.2).epsilon(0.01));
}

TEST_CASE("a point met twice holds the geometric mean", "[hwmodels]") {
  ResidualGrid grid = one_point({{64, 0.5}});
  grid.add(Sizes{64}, Sizes{1}, 2.0);
  CHECK(at(grid, {64}, 1) == Approx(1.0));
}

TEST_CASE("along an axis the logarithm of the ratio is linear in the logarithm of the size",
          "[hwmodels]") {
  ResidualGrid grid({"n"}, {{"m", {1, 16}}});
  grid.add(Sizes{64}, Sizes{1}, 1.0);
  grid.add(Sizes{64}, Sizes{16}, 4.0);
  for (const double m : {1.0, 2.0, 4.0, 8.0, 16.0})
    CHECK(at(grid, {64}, m) == Approx(std::sqrt(m)));
}

TEST_CASE("along two axes the ratio is bilinear in logarithms", "[hwmodels]") {
  ResidualGrid grid({"h"}, {{"batch", {1, 16}}, {"length", {1, 256}}});
  for (const std::int64_t batch : {1, 16})
    for (const std::int64_t length : {1, 256})
      grid.add(Sizes{8}, Sizes{batch, length},
               std::pow(static_cast<double>(batch), 0.25) *
                   std::pow(static_cast<double>(length), -0.125));
  const hw::GridSlice slice = grid.slice(Sizes{8});
  CHECK(slice.at(4.0, 16.0).factor == Approx(std::pow(4.0, 0.25) * std::pow(16.0, -0.125)));
  CHECK(slice.at(2.0, 100.0).factor == Approx(std::pow(2.0, 0.25) * std::pow(100.0, -0.125)));
}

TEST_CASE("a surface that is linear in logarithms is reproduced between shapes", "[hwmodels]") {
  ResidualGrid grid({"n", "k"}, {{"m", {1}}});
  const auto surface = [](double n, double k) {
    return 1.3 * std::pow(n / 1024.0, 0.06) * std::pow(k / 1024.0, -0.04);
  };
  for (const std::int64_t n : {256, 512, 1024, 2048, 4096})
    for (const std::int64_t k : {256, 512, 1024, 2048, 4096})
      grid.add(Sizes{n, k}, Sizes{1}, surface(static_cast<double>(n), static_cast<double>(k)));
  // The ridge on the slopes keeps a hundredth of the way.
  for (const std::int64_t n : {300, 700, 1500, 3000})
    for (const std::int64_t k : {400, 900, 2500})
      CHECK(at(grid, {n, k}, 1) ==
            Approx(surface(static_cast<double>(n), static_cast<double>(k))).epsilon(0.01));
}

TEST_CASE("between two shapes of one ratio lies that ratio", "[hwmodels]") {
  const ResidualGrid grid = one_point({{64, 1.4}, {256, 1.4}});
  CHECK(at(grid, {100}, 1) == Approx(1.4));
}

TEST_CASE("sizes outside those measured take the nearest ones' ratio", "[hwmodels]") {
  ResidualGrid grid({"n"}, {{"m", {2, 8}}});
  grid.add(Sizes{64}, Sizes{2}, 0.7);
  grid.add(Sizes{64}, Sizes{8}, 1.1);
  CHECK(at(grid, {64}, 1) == at(grid, {64}, 2));
  CHECK(at(grid, {64}, 100) == at(grid, {64}, 8));
  CHECK(at(grid, {6400}, 2) == at(grid, {64}, 2));
}

TEST_CASE("inside axes and shapes is on the grid, outside is not", "[hwmodels]") {
  ResidualGrid grid({"n"}, {{"m", {2, 8}}});
  for (const std::int64_t n : {64, 128})
    for (const std::int64_t m : {2, 8}) grid.add(Sizes{n}, Sizes{m}, 1.0);
  const auto on_grid = [&](std::int64_t n, double m) { return grid.slice(Sizes{n}).at(m).on_grid; };
  CHECK(on_grid(64, 2));
  CHECK(on_grid(100, 5));
  CHECK(on_grid(128, 8));
  CHECK_FALSE(on_grid(100, 1));
  CHECK_FALSE(on_grid(100, 9));
  CHECK_FALSE(on_grid(63, 5));
  CHECK_FALSE(on_grid(129, 5));
}

TEST_CASE("a shape an octave and more from any measured one is off the grid", "[hwmodels]") {
  const ResidualGrid grid = one_point({{64, 1.0}, {1024, 1.0}});
  CHECK(grid.slice(Sizes{128}).at(1).on_grid);
  CHECK_FALSE(grid.slice(Sizes{200}).at(1).on_grid);
  CHECK(grid.slice(Sizes{512}).at(1).on_grid);
}

TEST_CASE("gaps between measured points of a shape are filled and count as measured",
          "[hwmodels]") {
  ResidualGrid grid({"n"}, {{"m", {1, 4, 16, 64}}});
  grid.add(Sizes{64}, Sizes{1}, 1.0);
  grid.add(Sizes{64}, Sizes{16}, 4.0);
  const hw::GridSlice slice = grid.slice(Sizes{64});
  CHECK(slice.at(4).factor == Approx(2.0));
  CHECK(slice.at(4).on_grid);
}

TEST_CASE("points beyond the last measured one take its ratio, off the grid", "[hwmodels]") {
  ResidualGrid grid({"h"}, {{"batch", {1, 4}}, {"length", {1, 16, 256}}});
  grid.add(Sizes{8}, Sizes{1, 1}, 2.0);
  grid.add(Sizes{8}, Sizes{1, 16}, 3.0);
  grid.add(Sizes{8}, Sizes{4, 1}, 5.0);
  const hw::GridSlice slice = grid.slice(Sizes{8});
  CHECK(slice.at(1, 256).factor == Approx(3.0));
  CHECK_FALSE(slice.at(1, 256).on_grid);
  // Beside two measured points: the mean of their logarithms.
  CHECK(slice.at(4, 16).factor == Approx(std::sqrt(5.0 * 3.0)));
  CHECK_FALSE(slice.at(4, 16).on_grid);
  CHECK(slice.at(1, 4).on_grid);
}

TEST_CASE("a shape's last ratio holds where only others were measured, off the grid",
          "[hwmodels]") {
  ResidualGrid grid({"n"}, {{"m", {1, 2, 4}}});
  for (const std::int64_t n : {64, 128, 256})
    for (const std::int64_t m : {1, 2}) grid.add(Sizes{n}, Sizes{m}, 1.0);
  grid.add(Sizes{64}, Sizes{4}, 10.0);
  grid.add(Sizes{256}, Sizes{4}, 10.0);
  CHECK(at(grid, {128}, 4) == Approx(1.0).epsilon(0.05));
  CHECK(grid.slice(Sizes{128}).at(2).on_grid);
  CHECK_FALSE(grid.slice(Sizes{128}).at(4).on_grid);
  CHECK(grid.slice(Sizes{64}).at(4).on_grid);
}

TEST_CASE("a shape between others is on the grid only where those around it were measured",
          "[hwmodels]") {
  ResidualGrid grid({"n"}, {{"m", {1, 2}}});
  for (const std::int64_t n : {64, 128, 256}) grid.add(Sizes{n}, Sizes{1}, 1.0);
  grid.add(Sizes{128}, Sizes{2}, 1.0);
  grid.add(Sizes{256}, Sizes{2}, 1.0);
  CHECK(grid.slice(Sizes{180}).at(2).on_grid);
  CHECK(grid.slice(Sizes{90}).at(1).on_grid);
  CHECK_FALSE(grid.slice(Sizes{90}).at(2).on_grid);
}

TEST_CASE("no grid is a factor of one, off the grid", "[hwmodels]") {
  const hw::Correction none = hw::GridSlice().at(5.0);
  CHECK(none.factor == 1.0);
  CHECK_FALSE(none.on_grid);
  const hw::Correction empty = ResidualGrid({"n"}, {{"m", {1}}}).slice(Sizes{4}).at(1.0);
  CHECK(empty.factor == 1.0);
  CHECK_FALSE(empty.on_grid);
}

TEST_CASE("the text of a grid reads back to the same text and the same ratios", "[hwmodels]") {
  ResidualGrid grid({"n", "k"}, {{"batch", {1, 3}}, {"length", {2, 7, 9}}});
  grid.add(Sizes{64, 128}, Sizes{1, 2}, 0.987);
  grid.add(Sizes{64, 128}, Sizes{3, 7}, 1.234);
  grid.add(Sizes{32, 32}, Sizes{1, 9}, 0.001);
  const std::string text = grid.to_text();
  CHECK(text ==
        "shape n k\naxis batch 1 3\naxis length 2 7 9\n64 128 : 987 - - - 1234 -\n"
        "32 32 : - - 1 - - -\n");
  const ResidualGrid again = ResidualGrid::from_text(text);
  CHECK(again.to_text() == text);
  CHECK(again.slice(Sizes{64, 128}).at(3, 7).factor ==
        Approx(grid.slice(Sizes{64, 128}).at(3, 7).factor));
}

TEST_CASE("bad text of a grid is refused with its line", "[hwmodels]") {
  const auto refused = [](const std::string& text, std::size_t line, const std::string& message) {
    INFO(text);
    try {
      [[maybe_unused]] const ResidualGrid grid = ResidualGrid::from_text(text);
      FAIL("accepted");
    } catch (const hw::GridTextError& e) {
      CHECK(e.line() == line);
      CHECK_THAT(e.what(), Contains(message));
    }
  };
  refused("", 1, "a grid begins with");
  refused("shape n\n", 1, "a grid begins with");
  refused("axis m 1 2\n", 1, "a grid begins with");
  refused("shape a b c d e f g h\naxis m 1\n1 1 1 1 1 1 1 1 : 1\n", 2, "1 to 7 sizes");
  refused("shape n\naxis a 1\naxis b 1\naxis c 1\n", 4, "one or two 'axis …'");
  refused("shape n\naxis m 4 2\n", 2, "an axis must rise");
  refused("shape n\naxis m 1 x\n", 2, "'x' is not a whole number from 1");
  refused("shape n\naxis m 1 2\n", 2, "a grid holds at least one shape");
  refused("shape n\naxis m 1 2\n64 : 1000\n", 3, "1 sizes, a colon and 2 ratios wanted");
  refused("shape n\naxis m 1\n64 1000 1\n", 3, "wanted");
  refused("shape n\naxis m 1\n64 : 0\n", 3, "'0' is not a whole number from 1 to 1000000");
  refused("shape n\naxis m 1\n64 : 9223372036854775807\n", 3, "'9223372036854775807'");
  refused("shape n\naxis m 1\n64 : 1.5\n", 3, "'1.5'");
  refused("shape n\naxis m 1\n64 : -\n", 3, "nothing was measured of this shape");
  refused("shape n\naxis m 1\n64 : 1\n64 : 2\n", 4, "this shape is given twice");
}

TEST_CASE("a ratio off the axes or not positive is our bug", "[hwmodels]") {
  ResidualGrid grid({"n"}, {{"m", {1, 2}}});
  CHECK_THROWS_AS(grid.add(Sizes{1}, Sizes{3}, 1.0), InternalError);
  CHECK_THROWS_AS(grid.add(Sizes{1}, Sizes{1}, 0.0), InternalError);
  CHECK_THROWS_AS(grid.slice(Sizes{1, 1}), InternalError);
}
