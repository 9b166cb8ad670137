#include "sim/config/scalars.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/config/numbers.hpp"

namespace tokenline::config {
namespace {

template <class T>
Outcome<T> mistake(std::string message, std::string hint = {}) {
  return {{}, std::move(message), std::move(hint)};
}

template <class T>
Outcome<T> unexpected(const Node& node, std::string_view wanted, std::string hint = {}) {
  return mistake<T>(fmt::format("expected {}, got {}", wanted, describe(node)), std::move(hint));
}

template <class T, class Format>
std::string bounds(const Range<T>& range, Format format) {
  const bool above = range.max < std::numeric_limits<T>::max();
  if (range.min <= std::numeric_limits<T>::lowest())
    return above ? fmt::format("at most {}", format(range.max)) : "";
  // The smallest positive doubles stand for "not zero".
  if (range.min > T{0} && static_cast<double>(range.min) <= std::numeric_limits<double>::min())
    return above ? fmt::format("greater than 0, at most {}", format(range.max)) : "greater than 0";
  if (!above) return fmt::format("at least {}", format(range.min));
  return fmt::format("{} to {}", format(range.min), format(range.max));
}

template <class T>
Outcome<T> within(T value, const Range<T>& range, const Node& node, const std::string& bounds) {
  if (value >= range.min && value <= range.max) return {value, {}, {}};
  return mistake<T>(fmt::format("{} is out of range: must be {}", node.scalar, bounds));
}

template <class T>
Outcome<T> read_number(const Node& node, const Number<T>& number, const Range<T>& range,
                       std::string_view wanted) {
  if (node.kind != Node::Kind::scalar) return unexpected<T>(node, wanted);
  if (node.quoted) return unexpected<T>(node, wanted, "a quoted value is text: remove the quotes");
  if (number.trouble == std::errc::result_out_of_range)
    return mistake<T>(fmt::format("{} does not fit in 64 bits", describe(node)));
  if (!number.ok()) return unexpected<T>(node, wanted, integer_hint(node.scalar));
  return within(number.value, range, node, describe_range(range));
}

}  // namespace

Outcome<std::int64_t> read_integer(const Node& node, Range<std::int64_t> range) {
  return read_number(node, parse_integer(node.scalar), range, "an integer");
}

Outcome<double> read_real(const Node& node, Range<double> range) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const bool allowed = range.max == infinity;
  if (allowed && node.kind == Node::Kind::scalar && !node.quoted && node.scalar == "inf")
    return {infinity, {}, {}};
  return read_number(node, parse_real(node.scalar), range,
                     allowed ? "a number or inf" : "a number");
}

Outcome<bool> read_boolean(const Node& node) {
  if (node.kind == Node::Kind::scalar && !node.quoted) {
    if (node.scalar == "true") return {true, {}, {}};
    if (node.scalar == "false") return {false, {}, {}};
  }
  return unexpected<bool>(node, "true or false");
}

Outcome<std::string> read_text(const Node& node) {
  if (node.kind != Node::Kind::scalar) return unexpected<std::string>(node, "a text");
  return {node.scalar, {}, {}};
}

Outcome<std::string> read_written_text(const Node& node) {
  if (node.kind == Node::Kind::scalar && node.scalar.empty())
    return mistake<std::string>("must not be empty");
  return read_text(node);
}

Outcome<std::string> read_word(const Node& node, std::span<const std::string> choices) {
  if (node.kind != Node::Kind::scalar)
    return unexpected<std::string>(node, "a word",
                                   fmt::format("one of: {}", fmt::join(choices, ", ")));
  if (std::ranges::find(choices, node.scalar) != choices.end()) return {node.scalar, {}, {}};
  return mistake<std::string>(fmt::format("unknown value {}", describe(node)),
                              suggestion(node.scalar, choices));
}

Outcome<double> read_amount(const Node& node, const Dimension& dimension, Range<double> range) {
  if (node.kind != Node::Kind::scalar)
    return unexpected<double>(node, fmt::format("a {}", dimension.name),
                              fmt::format("write it like '{}'", dimension.example));
  Amount amount = parse_amount(dimension, node.scalar);
  if (!amount.trouble.empty())
    return mistake<double>(fmt::format("{} is {}", describe(node), amount.trouble),
                           std::move(amount.hint));
  return within(amount.value, range, node, describe_range(range, dimension));
}

std::string describe_range(Range<std::int64_t> range) {
  return bounds(range, [](std::int64_t value) { return fmt::format("{}", value); });
}

std::string describe_range(Range<double> range) {
  return bounds(range, [](double value) { return fmt::format("{}", value); });
}

std::string describe_range(Range<double> range, const Dimension& dimension) {
  return bounds(range, [&](double value) { return format_amount(dimension, value); });
}

}  // namespace tokenline::config
