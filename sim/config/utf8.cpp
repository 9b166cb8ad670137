#include "sim/config/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tokenline::config {
namespace {

std::uint32_t byte_at(std::string_view text, std::size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
}

/// Bytes of the character that begins at `i`; 0 where there is no valid one (RFC 3629, section 4).
std::size_t character_size(std::string_view text, std::size_t i) {
  const auto first = byte_at(text, i);
  const auto second = byte_at(text, i + 1);
  const auto tail = [&](std::size_t k) { return (byte_at(text, i + k) & 0xc0U) == 0x80U; };
  if (first < 0x80U) return 1;
  if (first >= 0xc2U && first <= 0xdfU) return tail(1) ? 2 : 0;
  if (first >= 0xe0U && first <= 0xefU) {
    if ((first == 0xe0U && second < 0xa0U) || (first == 0xedU && second > 0x9fU)) return 0;
    return tail(1) && tail(2) ? 3 : 0;
  }
  if (first >= 0xf0U && first <= 0xf4U) {
    if ((first == 0xf0U && second < 0x90U) || (first == 0xf4U && second > 0x8fU)) return 0;
    return tail(1) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

bool is_forbidden_control(std::uint32_t byte) {
  return (byte < 0x20U && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7fU;
}

[[noreturn]] void fail(const std::string& file, std::string_view text, std::size_t at,
                       std::string message, std::string hint) {
  const auto before = text.substr(0, at);
  const auto line_start = before.rfind('\n') + 1;  // npos + 1 is 0: the first line.
  const auto line = 1 + static_cast<int>(std::ranges::count(before, '\n'));
  throw ConfigError({{file, line, 1 + count_characters(before.substr(line_start))},
                     {},
                     std::move(message),
                     std::move(hint)});
}

}  // namespace

void check_utf8(const std::string& file, std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = byte_at(text, i);
    if (is_forbidden_control(byte))
      fail(file, text, i, fmt::format("control character U+{:04X}", byte),
           byte == 0 ? "is this a text file in UTF-8?" : "");
    const auto size = character_size(text, i);
    if (size == 0)
      fail(file, text, i, fmt::format("byte 0x{:02x} is not valid UTF-8", byte),
           "save the file in UTF-8");
    i += size;
  }
}

int count_characters(std::string_view text) {
  return static_cast<int>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

}  // namespace tokenline::config
