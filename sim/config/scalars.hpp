#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "sim/config/node.hpp"
#include "sim/config/reader.hpp"
#include "sim/config/units.hpp"

namespace tokenline::config {

/// What reading one value gave: the value, or the mistake and what to do about it.
template <class T>
struct Outcome {
  std::optional<T> value;
  std::string message;
  std::string hint;
};

[[nodiscard]] Outcome<std::int64_t> read_integer(const Node& node, Range<std::int64_t> range);
[[nodiscard]] Outcome<double> read_real(const Node& node, Range<double> range);
[[nodiscard]] Outcome<bool> read_boolean(const Node& node);
[[nodiscard]] Outcome<std::string> read_text(const Node& node);
/// A text that is not empty.
[[nodiscard]] Outcome<std::string> read_written_text(const Node& node);
[[nodiscard]] Outcome<std::string> read_word(const Node& node,
                                             std::span<const std::string> choices);
/// An amount in base units.
[[nodiscard]] Outcome<double> read_amount(const Node& node, const Dimension& dimension,
                                          Range<double> range);

/// A range in words: "1 to 64", "at least 1", "greater than 0"; empty when it has no bounds.
[[nodiscard]] std::string describe_range(Range<std::int64_t> range);
[[nodiscard]] std::string describe_range(Range<double> range);
[[nodiscard]] std::string describe_range(Range<double> range, const Dimension& dimension);

}  // namespace tokenline::config
