#pragma once

#include <string_view>

namespace tokenline::report {

/// The version of Tokenline, "0.1.0".
[[nodiscard]] std::string_view version();

}  // namespace tokenline::report
