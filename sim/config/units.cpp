#include "sim/config/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "sim/config/numbers.hpp"
#include "sim/config/reader.hpp"

namespace tokenline::config {
namespace {

constexpr std::array<Unit, 6> time_units{
    {{"ns", 1.0, 1e9}, {"us", 1.0, 1e6}, {"ms", 1.0, 1e3}, {"s"}, {"min", 60.0}, {"h", 3600.0}}};
constexpr std::array<Unit, 9> size_units{{{"B"},
                                          {"kB", 1e3},
                                          {"MB", 1e6},
                                          {"GB", 1e9},
                                          {"TB", 1e12},
                                          {"KiB", 0x1p10},
                                          {"MiB", 0x1p20},
                                          {"GiB", 0x1p30},
                                          {"TiB", 0x1p40}}};
constexpr std::array<Unit, 9> bandwidth_units{{{"B/s"},
                                               {"kB/s", 1e3},
                                               {"MB/s", 1e6},
                                               {"GB/s", 1e9},
                                               {"TB/s", 1e12},
                                               {"KiB/s", 0x1p10},
                                               {"MiB/s", 0x1p20},
                                               {"GiB/s", 0x1p30},
                                               {"TiB/s", 0x1p40}}};
constexpr std::array<Unit, 4> flop_rate_units{
    {{"FLOP/s"}, {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}}};
constexpr std::array<Unit, 6> rate_units{
    {{"/s"}, {"/min", 1.0, 60.0}, {"/h", 1.0, 3600.0}, {"Hz"}, {"MHz", 1e6}, {"GHz", 1e9}}};
constexpr std::array<Unit, 2> power_units{{{"W"}, {"kW", 1e3}}};

bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// Where the number ends and the unit begins. An 'e' belongs to the number only when an exponent
/// follows.
std::size_t unit_begin(std::string_view text) {
  constexpr std::string_view number = "0123456789._+-";
  std::size_t i = 0;
  while (i < text.size()) {
    const bool exponent = (text[i] == 'e' || text[i] == 'E') && i + 1 < text.size() &&
                          number.find(text[i + 1]) != std::string_view::npos;
    if (!exponent && number.find(text[i]) == std::string_view::npos) break;
    ++i;
  }
  return i;
}

std::string accepted_units(const Dimension& dimension) {
  std::vector<std::string_view> names;
  for (const auto& unit : dimension.units) names.push_back(unit.name);
  return fmt::format("units: {}", fmt::join(names, " "));
}

/// Bits are what network cards are sold in; a silent factor of 8 is the usual mistake.
std::string unit_hint(const Dimension& dimension, std::string_view unit) {
  if (unit.find("b/s") != std::string_view::npos || unit.find("bit/s") != std::string_view::npos ||
      unit.find("bps") != std::string_view::npos)
    return fmt::format("write bytes: 400 Gbit/s is 50 GB/s; {}", accepted_units(dimension));
  return accepted_units(dimension);
}

template <class Q>
std::optional<Q> parse_as(const Dimension& dimension, std::string_view text) {
  const Amount amount = parse_amount(dimension, text);
  if (!amount.trouble.empty()) return {};
  return Q(amount.value);
}

}  // namespace

constinit const Dimension time_dimension{"duration", "512 ms", time_units, 4};
constinit const Dimension size_dimension{"size", "80 GB", size_units, 5};
constinit const Dimension bandwidth_dimension{"bandwidth", "3.35 TB/s", bandwidth_units, 5};
constinit const Dimension flop_rate_dimension{"FLOP rate", "989 TFLOP/s", flop_rate_units, 4};
constinit const Dimension rate_dimension{"rate", "35/s", rate_units, 1};
constinit const Dimension power_dimension{"power", "700 W", power_units, 2};

Amount parse_amount(const Dimension& dimension, std::string_view text) {
  text = trim(text);
  const std::size_t split = unit_begin(text);
  const auto number = parse_real(trim(text.substr(0, split)));
  const std::string_view unit = trim(text.substr(split));
  Amount amount;
  if (number.trouble == std::errc::result_out_of_range) {
    amount.trouble = "a number beyond what a double holds";
  } else if (!number.ok()) {
    amount.trouble = "not a number with a unit";
    amount.hint = fmt::format("write it like '{}'", dimension.example);
  } else if (unit.empty() && number.value != 0.0) {
    amount.trouble = fmt::format("a bare number: give a unit, e.g. '{}'", dimension.example);
    amount.hint = accepted_units(dimension);
  } else if (!unit.empty()) {
    const auto found = std::ranges::find(dimension.units, unit, &Unit::name);
    if (found == dimension.units.end()) {
      amount.trouble = fmt::format("no {}: '{}' is not a unit of one", dimension.name, unit);
      amount.hint = unit_hint(dimension, unit);
      return amount;
    }
    amount.value = number.value * found->factor / found->divisor;
    if (!std::isfinite(amount.value)) amount.trouble = "a number beyond what a double holds";
  }
  return amount;
}

std::string format_amount(const Dimension& dimension, double value) {
  if (value == 0.0) return "0";
  const Unit* best = dimension.units.data();
  for (const auto& unit : dimension.units.first(dimension.scale))
    if (std::abs(value) >= unit.factor / unit.divisor) best = &unit;
  const double count = value * best->divisor / best->factor;
  return fmt::format("{:.10g}{}{}", count, best->name.starts_with('/') ? "" : " ", best->name);
}

std::optional<Seconds> parse_seconds(std::string_view text) {
  return parse_as<Seconds>(time_dimension, text);
}
std::optional<Bytes> parse_bytes(std::string_view text) {
  return parse_as<Bytes>(size_dimension, text);
}
std::optional<BytesPerSecond> parse_bandwidth(std::string_view text) {
  return parse_as<BytesPerSecond>(bandwidth_dimension, text);
}
std::optional<FlopsPerSecond> parse_flop_rate(std::string_view text) {
  return parse_as<FlopsPerSecond>(flop_rate_dimension, text);
}
std::optional<PerSecond> parse_rate(std::string_view text) {
  return parse_as<PerSecond>(rate_dimension, text);
}
std::optional<Watts> parse_power(std::string_view text) {
  return parse_as<Watts>(power_dimension, text);
}

}  // namespace tokenline::config
