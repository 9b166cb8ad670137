#include "sim/config/numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>

namespace tokenline::config {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_digit_at(std::string_view text, std::size_t i) {
  return i < text.size() && is_digit(text[i]);
}

/// Without underscores and '+', ready for from_chars; empty when they, the sign or a leading zero
/// are misplaced.
std::string plain_digits(std::string_view text) {
  std::string out;
  if (text.starts_with('-')) out = "-";
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const bool begins_well = is_digit_at(text, 0) || (text.starts_with('.') && is_digit_at(text, 1));
  if (!begins_well || (text[0] == '0' && (is_digit_at(text, 1) || text.substr(1).starts_with('_'))))
    return {};
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_')
      out += text[i];
    else if (!is_digit(text[i - 1]) || !is_digit_at(text, i + 1))
      return {};
  }
  return out;
}

template <class T>
Number<T> parse(std::string_view text) {
  const std::string digits = plain_digits(text);
  Number<T> number;
  const auto [end, trouble] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number.value);
  if (digits.empty() || end != digits.data() + digits.size())
    number.trouble = std::errc::invalid_argument;
  else
    number.trouble = trouble;
  return number;
}

}  // namespace

Number<std::int64_t> parse_integer(std::string_view text) { return parse<std::int64_t>(text); }

Number<double> parse_real(std::string_view text) { return parse<double>(text); }

std::string integer_hint(std::string_view text) {
  const std::string digits(text.substr(std::min(text.find_first_not_of('0'), text.size())));
  if (const auto decimal = parse_integer(digits); text.starts_with('0') && decimal.ok())
    return fmt::format("write {}", decimal.value);
  if (text.starts_with("0x")) {
    std::int64_t value{};
    const auto* const last = text.data() + text.size();
    const auto [end, trouble] = std::from_chars(text.data() + 2, last, value, 16);
    return trouble == std::errc{} && end == last ? fmt::format("write {}", value) : "";
  }
  constexpr double exact = 0x1p53;
  const auto real = parse_real(text);
  if (real.ok() && std::abs(real.value) <= exact && std::floor(real.value) == real.value)
    return fmt::format("write {}", static_cast<std::int64_t>(real.value));
  return {};
}

}  // namespace tokenline::config
