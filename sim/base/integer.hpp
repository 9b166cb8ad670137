#pragma once

#include <cstdint>

namespace tokenline {

/// a / b rounded up, for a of at least 0 and b above 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// A count as a factor.
constexpr double real(std::int64_t value) { return static_cast<double>(value); }

}  // namespace tokenline
