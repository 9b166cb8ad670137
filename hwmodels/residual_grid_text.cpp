// The text of a residual grid, as catalog entries hold it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "hwmodels/residual_grid.hpp"

namespace tokenline::hw {
namespace {

constexpr std::int64_t largest_size = 1LL << 40;
constexpr std::int64_t largest_ratio = 1'000'000;  ///< In thousandths.

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

std::int64_t whole(std::string_view word, std::size_t line, std::int64_t largest) {
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (failure != std::errc() || end != word.data() + word.size() || value < 1 || value > largest)
    throw GridTextError(line,
                        fmt::format("'{}' is not a whole number from 1 to {}", word, largest));
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
  for (std::size_t i = 2; i < words.size(); ++i)
    axis.values.push_back(whole(words[i], line, largest_size));
  if (axis.values.empty() ||
      std::ranges::adjacent_find(axis.values, std::greater_equal<>()) != axis.values.end())
    throw GridTextError(line, "an axis must rise");
  return axis;
}

/// The lines before the shapes.
struct Head {
  std::vector<std::string> names;
  std::vector<GridAxis> axes;
  std::size_t lines = 0;
};

Head read_head(const std::vector<std::string_view>& lines) {
  Head head;
  for (; head.lines < lines.size(); ++head.lines) {
    const auto words = words_of(lines[head.lines]);
    if (words.size() >= 2 && words[0] == "shape" && head.lines == 0)
      head.names.assign(words.begin() + 1, words.end());
    else if (words.size() >= 3 && words[0] == "axis")
      head.axes.push_back(axis_of(words, head.lines + 1));
    else
      break;
  }
  if (head.names.empty() || head.names.size() > ResidualGrid::most_sizes || head.axes.empty() ||
      head.axes.size() > 2)
    throw GridTextError(
        std::max<std::size_t>(1, head.lines),
        fmt::format("a grid begins with a line 'shape …' of 1 to {} sizes and one or two 'axis …'",
                    ResidualGrid::most_sizes));
  return head;
}

}  // namespace

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
  Head head = read_head(lines);
  std::size_t next = head.lines;
  ResidualGrid grid(std::move(head.names), std::move(head.axes));
  for (; next < lines.size(); ++next) {
    const auto words = words_of(lines[next]);
    const std::size_t sizes = grid.shape_names_.size();
    if (words.size() != sizes + 1 + grid.points() || words[sizes] != ":")
      throw GridTextError(
          next + 1, fmt::format("{} sizes, a colon and {} ratios wanted", sizes, grid.points()));
    std::vector<std::int64_t> shape;
    for (std::size_t i = 0; i < sizes; ++i)
      shape.push_back(whole(words[i], next + 1, largest_size));
    const std::size_t known = grid.shapes_.size();
    Shape& target = grid.shape_of(shape);
    if (grid.shapes_.size() == known) throw GridTextError(next + 1, "this shape is given twice");
    for (std::size_t i = 0; i < grid.points(); ++i) {
      const std::string_view word = words[sizes + 1 + i];
      if (word == "-") continue;
      target.log_ratio[i] = static_cast<float>(
          std::log(static_cast<double>(whole(word, next + 1, largest_ratio)) / 1000.0));
      target.samples[i] = 1;
    }
    if (std::ranges::find(target.samples, 1) == target.samples.end())
      throw GridTextError(next + 1, "nothing was measured of this shape");
  }
  if (grid.shapes_.empty()) throw GridTextError(next, "a grid holds at least one shape");
  return grid;
}

}  // namespace tokenline::hw
