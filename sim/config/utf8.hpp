#pragma once

#include <string>
#include <string_view>

#include "sim/config/diagnostic.hpp"

namespace tokenline::config {

/// Throws ConfigError at the first byte of `text` that is not UTF-8 (RFC 3629: no overlong forms,
/// no surrogates, nothing above U+10FFFF) or that is a control character other than tab, line feed
/// and carriage return.
void check_utf8(const std::string& file, std::string_view text);

/// The number of characters in a piece of valid UTF-8.
[[nodiscard]] int count_characters(std::string_view text);

}  // namespace tokenline::config
