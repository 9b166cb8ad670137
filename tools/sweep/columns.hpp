#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sim/config/units.hpp"
#include "tools/sweep/sweep.hpp"

namespace tokenline::sweep {

/// The kind of quantity that all of the values are, at least one of them with a unit; null where
/// they are of none.
[[nodiscard]] const config::Dimension* dimension_of(std::span<const std::string> values);

/// An axis as a column of results: numbers in base units where the values are quantities.
struct AxisColumn {
  enum class Type { integer, real, text };

  std::string name;  ///< "traffic.chat.arrival.rate_per_s", "engine.max_num_seqs".
  Type type = Type::text;
  const config::Dimension* dimension = nullptr;

  /// A value of the axis in the column: digits of a number, or the text.
  [[nodiscard]] std::string cell(const std::string& value) const;
};

/// The column of the `axis`-th axis.
[[nodiscard]] AxisColumn axis_column(const Sweep& sweep, std::size_t axis);

}  // namespace tokenline::sweep
