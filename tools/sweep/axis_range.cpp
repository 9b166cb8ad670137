#include "tools/sweep/axis_range.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sim/config/numbers.hpp"
#include "sim/engine/scenario.hpp"
#include "tools/sweep/columns.hpp"

namespace tokenline::sweep {
namespace {

/// Whether a key's path is of the pattern of a KeyInfo: "traffic.<name>.num_prompts".
bool is_of_pattern(std::string_view path, std::string_view pattern) {
  constexpr std::string_view any = "<name>";
  while (!pattern.empty()) {
    const std::string_view part = pattern.substr(0, pattern.find('.'));
    const std::string_view given = path.substr(0, path.find('.'));
    if (given.empty() || (part != any && part != given)) return false;
    pattern.remove_prefix(std::min(part.size() + 1, pattern.size()));
    path.remove_prefix(std::min(given.size() + 1, path.size()));
  }
  return path.empty();
}

/// Whether the scenario takes whole numbers there, and no others.
bool takes_whole_numbers(std::string_view key) {
  static const std::vector<config::KeyInfo> all = scenario_keys();
  constexpr std::string_view of_pool = ".engine.";
  if (key.starts_with("cluster.pools.") && key.find(of_pool) != std::string_view::npos)
    key.remove_prefix(key.find(of_pool) + 1);
  bool whole = false;
  for (const config::KeyInfo& info : all)
    if (is_of_pattern(key, info.path)) {
      if (info.type == "number") return false;
      whole |= info.type == "integer";
    }
  return whole;
}

/// What follows the number: "/s", or " ms" with a blank.
std::string unit_as_written(const std::string& text) {
  const std::string unit = text.substr(text.find_last_of("0123456789.") + 1);
  const std::size_t begin = unit.find_first_not_of(' ');
  if (begin == std::string::npos) return {};
  return (unit[begin] == '/' ? "" : " ") + unit.substr(begin);
}

/// How many of the unit an amount in base units is.
double in_unit(double amount, const config::Dimension& dimension, std::string_view unit) {
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  const auto found = std::ranges::find(dimension.units, unit, &config::Unit::name);
  return found == dimension.units.end() ? amount : amount * found->divisor / found->factor;
}

std::optional<AxisRange> parse_ends(const config::Reader& reader, const std::string& min,
                                    const std::string& max, bool whole) {
  AxisRange range;
  const config::Dimension* dimension = dimension_of(std::vector<std::string>{min, max});
  if (dimension != nullptr) {
    range.unit = unit_as_written(min);
    if (range.unit.empty()) range.unit = unit_as_written(max);
    range.min = in_unit(config::parse_amount(*dimension, min).value, *dimension, range.unit);
    range.max = in_unit(config::parse_amount(*dimension, max).value, *dimension, range.unit);
    return range;
  }
  const auto is_number = [&](const std::string& text) {
    return whole ? config::parse_integer(text).ok() : config::parse_real(text).ok();
  };
  if (!is_number(min) || !is_number(max)) {
    reader.error("max",
                 fmt::format("'{}' and '{}' are neither {}numbers nor quantities of one kind", min,
                             max, whole ? "whole " : ""),
                 "write both ends as numbers, or with units as in 1/s and 50/s");
    return std::nullopt;
  }
  range.whole = whole;
  range.min = config::parse_real(min).value;
  range.max = config::parse_real(max).value;
  return range;
}

}  // namespace

std::optional<AxisRange> read_range(config::Reader& reader, const std::string& key) {
  const std::size_t before = reader.document().mistakes();
  const std::string min = reader.text({"min", "The lower end, with its unit."});
  const std::string max = reader.text({"max", "The upper end."});
  const std::vector<std::string> scales{"linear", "log"};
  const bool log = reader.word({"scale", "Strata of equal width, or of equal ratio."}, scales,
                               "linear") == "log";
  reader.finish();
  if (reader.document().mistakes() != before) return std::nullopt;
  auto range = parse_ends(reader, min, max, takes_whole_numbers(key));
  if (!range) return std::nullopt;
  range->log = log;
  if (range->max <= range->min) reader.error("max", "the range ends before it begins");
  if (log && range->min <= 0.0) reader.error("min", "must be greater than 0 with scale: log");
  if (reader.document().mistakes() != before) return std::nullopt;
  return range;
}

}  // namespace tokenline::sweep
