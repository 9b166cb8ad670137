#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace tokenline::config {

/// What a text is as a number: a value, or the reason why not. `invalid_argument`: not a number;
/// `result_out_of_range`: one that the type cannot hold.
template <class T>
struct Number {
  T value{};
  std::errc trouble{};
  [[nodiscard]] bool ok() const { return trouble == std::errc{}; }
};

/// Decimal digits with an optional sign and single underscores between digits. A leading zero
/// ("010") is no number: readers of YAML disagree whether it is 8 or 10.
[[nodiscard]] Number<std::int64_t> parse_integer(std::string_view text);

/// The same with a decimal point and an exponent: "0.5", "1e-3", "16_384.0". Never NaN or infinite.
[[nodiscard]] Number<double> parse_real(std::string_view text);

/// What to write instead of a text that is nearly an integer ("1e6", "010", "0x10", "8.0"), as
/// "write 1000000"; empty when it is not clear what was meant.
[[nodiscard]] std::string integer_hint(std::string_view text);

}  // namespace tokenline::config
