#include "tools/sweep/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <utility>

#include "sim/engine/scenario.hpp"
#include "sim/kernel/simulation.hpp"
#include "sim/report/assertions.hpp"
#include "sim/report/metric.hpp"
#include "sim/report/parallel.hpp"
#include "tools/sweep/point_digest.hpp"
#include "tools/sweep/sweep_reader.hpp"

namespace tokenline::sweep {
namespace {

using config::Diagnostic;

/// The settings of one point, in the order of the axes.
using Settings = std::vector<const Setting*>;

/// Every combination of the factors' levels with the seeds, the first factor slowest.
std::vector<Settings> combinations(const SweepText& text) {
  std::vector<Settings> all(1);
  const auto extend = [&](const auto& levels, const auto& add) {
    std::vector<Settings> longer;
    longer.reserve(all.size() * levels.size());
    for (const Settings& begin : all)
      for (const auto& level : levels) add(longer.emplace_back(begin), level);
    all = std::move(longer);
  };
  for (const Factor& factor : text.factors)
    extend(factor.levels, [](Settings& point, const std::vector<Setting>& level) {
      for (const Setting& setting : level) point.push_back(&setting);
    });
  if (!text.seeds.empty())
    extend(text.seeds, [](Settings& point, const Setting& seed) { point.push_back(&seed); });
  return all;
}

/// A point, or the mistakes that keep it from being one.
struct CheckedPoint {
  Point point;
  std::vector<Diagnostic> mistakes;
};

/// A mistake found while a scenario was loaded, at its line in the sweep if a setting made it.
Diagnostic at_setting(Diagnostic mistake, const Settings& settings) {
  for (const Setting* setting : settings)
    if (mistake.where.file == "--set " + setting->assignment) mistake.where = setting->where;
  return mistake;
}

/// Scopes of results that are no classes.
constexpr std::array<std::string_view, 3> scopes{"instances", "transfers", "fleet"};

/// Throws ConfigError where the figures of a class could not be told from others.
void check_class_names(const Scenario& scenario) {
  for (const std::string& name : report::class_names(scenario))
    if (std::ranges::find(scopes, name) != scopes.end() || name.starts_with("pools."))
      throw config::ConfigError({{scenario.file, 1, 1},
                                 "traffic." + name,
                                 "a sweep cannot have a class of this name",
                                 "the columns of its figures are those of other things"});
}

CheckedPoint check_point(const SweepText& text, const Settings& settings, FileDigests& files) {
  CheckedPoint checked;
  Point& point = checked.point;
  point.base = text.base;
  for (const Setting* setting : settings) {
    point.overrides.push_back(setting->assignment);
    if (setting->key != "seed") point.values.push_back(setting->value);
  }
  try {
    const Scenario scenario = load_scenario(point.base, {.overrides = point.overrides});
    static_cast<void>(report::read_conditions(scenario));
    check_class_names(scenario);
    point.seed = scenario.seed;
    point.sha256 = point_digest(scenario, files);
  } catch (const config::ConfigError& error) {
    for (const Diagnostic& mistake : error.diagnostics())
      checked.mistakes.push_back(at_setting(mistake, settings));
  }
  return checked;
}

/// Adds what is wrong with the points to the document: a mistake that several share once, with the
/// first of them.
void report_mistakes_of_points(config::Document& document, const std::vector<CheckedPoint>& all) {
  std::set<std::tuple<std::string, int, int, std::string, std::string>> seen;
  for (const CheckedPoint& checked : all)
    for (const Diagnostic& d : checked.mistakes)
      if (seen.emplace(d.where.file, d.where.line, d.where.column, d.path, d.message).second)
        document.error(d.where, d.path,
                       fmt::format("{} ({})", d.message, fmt::join(checked.point.overrides, ", ")),
                       d.hint);
}

Sweep build_sweep(config::Node root, const std::stop_token& stop) {
  config::Document document(std::move(root));
  const SweepText text = read_sweep(document);
  document.throw_if_errors();
  Sweep sweep{.name = text.name, .description = text.description, .axes = {}, .points = {}};
  for (const Factor& factor : text.factors)
    for (const Setting& setting : factor.levels.front()) sweep.axes.push_back(setting.key);

  const std::vector<Settings> all = combinations(text);
  std::vector<CheckedPoint> checked(all.size());
  FileDigests files;
  report::for_each_index(all.size(), report::hardware_threads(), [&](std::size_t i) {
    if (stop.stop_requested()) throw Interrupted{};
    checked[i] = check_point(text, all[i], files);
  });
  report_mistakes_of_points(document, checked);
  document.throw_if_errors();
  for (CheckedPoint& point : checked) sweep.points.push_back(std::move(point.point));
  return sweep;
}

}  // namespace

Sweep load_sweep(const std::string& path, const std::stop_token& stop) {
  return build_sweep(config::load_yaml(path), stop);
}

Sweep parse_sweep(const std::string& file, std::string_view text, const std::stop_token& stop) {
  return build_sweep(config::parse_yaml(file, text), stop);
}

std::vector<config::KeyInfo> sweep_keys() {
  config::Node empty;
  empty.kind = config::Node::Kind::mapping;
  config::Document document(std::move(empty), config::Document::Purpose::describe);
  static_cast<void>(read_sweep(document));
  return {document.keys().begin(), document.keys().end()};
}

std::string label(const Sweep& sweep, const Point& point) {
  std::string text;
  for (std::size_t i = 0; i < sweep.axes.size(); ++i)
    text += fmt::format("{}={}, ", sweep.axes[i], point.values[i]);
  return text + fmt::format("seed {}", point.seed);
}

}  // namespace tokenline::sweep
