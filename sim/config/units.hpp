#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tokenline::config {

/// A unit as it is written, worth factor / divisor base units. One of the two is 1, so that "512
/// ms" is 512 / 1000, the double nearest to 0.512 (512 · 1e-3 would round twice).
struct Unit {
  std::string_view name;
  double factor = 1.0;
  double divisor = 1.0;
};

/// A kind of quantity.
struct Dimension {
  std::string_view name;     ///< "duration"
  std::string_view example;  ///< "512 ms"
  std::span<const Unit> units;
  std::size_t scale = 0;  ///< How many units, from the first, ascend: those amounts are printed in.
};

extern const Dimension time_dimension;
extern const Dimension size_dimension;
extern const Dimension bandwidth_dimension;
extern const Dimension flop_rate_dimension;
extern const Dimension rate_dimension;
extern const Dimension power_dimension;

/// An amount in base units, or why the text is none.
struct Amount {
  double value = 0.0;
  std::string trouble;  ///< Empty when the text is an amount.
  std::string hint;
};

/// Parses "80 GB" (the space is optional). A bare number is trouble, except 0.
[[nodiscard]] Amount parse_amount(const Dimension& dimension, std::string_view text);

/// An amount in the largest decimal unit that leaves a number of at least 1: "1.5 ms"; ten digits.
[[nodiscard]] std::string format_amount(const Dimension& dimension, double value);

}  // namespace tokenline::config
