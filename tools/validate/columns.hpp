#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/config/table.hpp"

namespace tokenline::validate {

/// What columns of measurements may hold: wider than any server, and small enough that nothing
/// derived from them leaves its type.
inline constexpr config::Range<std::int64_t> token_counts{1, 10'000'000};
inline constexpr config::Range<std::int64_t> gpu_counts{1, 1024};
inline constexpr config::Range<std::int64_t> stated_gpu_counts{0, 1024};  ///< 0: not stated.
inline constexpr config::Range<std::int64_t> client_counts{1, 65'536};
inline constexpr config::Range<double> milliseconds{1e-6, 1e9};
inline constexpr config::Range<double> rates{1e-6, 1e12};
inline constexpr config::Range<double> instants{0.0, 1e9};  ///< Seconds: three decades.

/// A character that stands in a scenario as it is.
[[nodiscard]] inline bool plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

/// Whether a text is a name of a type or an engine.
[[nodiscard]] inline bool plain_name(std::string_view text) {
  return std::ranges::all_of(text, plain);
}

/// A column of such a name, perhaps empty.
[[nodiscard]] inline std::string name_in(const config::TableRow& row, std::string_view column) {
  std::string text = row.text(column);
  if (!plain_name(text)) row.error(column, "expected a name, got '" + text + "'");
  return text;
}

}  // namespace tokenline::validate
