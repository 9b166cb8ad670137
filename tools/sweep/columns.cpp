#include "tools/sweep/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/config/numbers.hpp"

namespace tokenline::sweep {
namespace {

/// The kinds of quantity, with what a serialized name of one ends in.
constexpr std::array<std::pair<const config::Dimension*, const char*>, 5> dimensions{
    {{&config::time_dimension, "_s"},
     {&config::size_dimension, "_bytes"},
     {&config::bandwidth_dimension, "_bytes_per_s"},
     {&config::flop_rate_dimension, "_flops_per_s"},
     {&config::rate_dimension, "_per_s"}}};

bool is_amount(const config::Dimension& dimension, const std::string& value) {
  return config::parse_amount(dimension, value).trouble.empty();
}

std::vector<std::string> values_of(const Sweep& sweep, std::size_t axis) {
  std::vector<std::string> values;
  for (const Point& point : sweep.points) values.push_back(point.values[axis]);
  return values;
}

AxisColumn::Type number_type(std::span<const std::string> values) {
  const auto integer = [](const std::string& v) { return config::parse_integer(v).ok(); };
  const auto real = [](const std::string& v) { return config::parse_real(v).ok(); };
  if (std::ranges::all_of(values, integer)) return AxisColumn::Type::integer;
  return std::ranges::all_of(values, real) ? AxisColumn::Type::real : AxisColumn::Type::text;
}

}  // namespace

const config::Dimension* dimension_of(std::span<const std::string> values) {
  for (const auto& [dimension, ending] : dimensions) {
    // Zero needs no unit, and is an amount of every kind.
    const auto bare = [](const std::string& v) { return config::parse_real(v).ok(); };
    if (std::ranges::all_of(values, [&](const auto& v) { return is_amount(*dimension, v); }) &&
        !std::ranges::all_of(values, bare))
      return dimension;
  }
  return nullptr;
}

std::string AxisColumn::cell(const std::string& value) const {
  if (dimension != nullptr) return fmt::format("{}", config::parse_amount(*dimension, value).value);
  if (type == Type::integer) return fmt::format("{}", config::parse_integer(value).value);
  if (type == Type::real) return fmt::format("{}", config::parse_real(value).value);
  return value;
}

AxisColumn axis_column(const Sweep& sweep, std::size_t axis) {
  const std::vector<std::string> values = values_of(sweep, axis);
  AxisColumn column{.name = sweep.axes[axis], .type = number_type(values)};
  column.dimension = dimension_of(values);
  for (const auto& [dimension, ending] : dimensions)
    if (dimension == column.dimension) {
      column.name += ending;
      column.type = AxisColumn::Type::real;
    }
  return column;
}

}  // namespace tokenline::sweep
