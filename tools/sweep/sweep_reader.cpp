#include "tools/sweep/sweep_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <set>

#include "tools/sweep/axis_range.hpp"
#include "tools/sweep/latin_hypercube.hpp"

namespace tokenline::sweep {
namespace {

using config::Document;
using config::Node;
using config::Reader;

/// A value in one line, as a flow of YAML.
std::string flow_text(const Node& node) {
  std::string out;
  if (node.kind == Node::Kind::sequence) {
    for (const Node& item : node.items) out += (out.empty() ? "" : ", ") + flow_text(item);
    return "[" + out + "]";
  }
  if (node.kind == Node::Kind::mapping) {
    for (const auto& [key, where, value] : node.entries)
      out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", config::emit_scalar(key, false),
                         flow_text(value));
    return "{" + out + "}";
  }
  if (node.kind == Node::Kind::null) return "null";
  const bool separates = node.scalar.find_first_of(",[]{}") != std::string::npos;
  return config::emit_scalar(node.scalar, node.quoted || separates);
}

Setting setting(const std::string& key, const Node& value) {
  const bool scalar = value.kind == Node::Kind::scalar;
  return {key, scalar ? value.scalar : flow_text(value),
          fmt::format("{}={}", key, flow_text(value)), value.where};
}

class SweepReader {
 public:
  explicit SweepReader(Document& document) : document_(document), root_(document) {}

  SweepText read() {
    text_.name = root_.text({"sweep", "Name of the sweep."});
    text_.description = root_.text({"description", "What it asks."}, "");
    text_.base = root_.existing_file(
        "base", root_.text({"base", "The scenario, relative to the sweep's folder."}));
    const std::size_t before = document_.mistakes();
    read_grid();
    read_points();
    read_latin_hypercube();
    read_seeds();
    root_.finish();
    if (document_.mistakes() == before) check_size();
    return std::move(text_);
  }

 private:
  /// A key of the scenario may be set in one place only.
  void claim_key(const std::string& key, const config::Location& where, const std::string& path) {
    if (key == "seed")
      document_.error(where, path, "seeds have a key of their own", "write seeds: [1, 2, 3]");
    else if (!keys_.insert(key).second)
      document_.error(where, path, "the sweep sets this key in another place, too");
  }

  void read_grid() {
    auto grid = root_.optional_section(
        {"grid", "Keys of the scenario, each with a list of values: {cluster.replicas: [1, 2]}."});
    if (!grid) return;
    grid->allow_unknown();
    grid->finish();
    const Node* node = document_.root().find("grid");
    if (node == nullptr) return;
    if (node->entries.empty() &&
        (node->kind == Node::Kind::mapping || node->kind == Node::Kind::null))
      grid->error("", "no key is given");
    for (const auto& [key, where, list] : node->entries) read_grid_axis(key, where, list);
  }

  void read_grid_axis(const std::string& key, const config::Location& where, const Node& list) {
    const std::string path = fmt::format("grid.{}", key);
    claim_key(key, where, path);
    if (list.kind != Node::Kind::sequence || list.items.empty())
      return document_.error(
          list.where, path,
          fmt::format("expected a list of values, got {}",
                      list.kind == Node::Kind::sequence ? "an empty one" : describe(list)),
          fmt::format("write {}: [{}]", key,
                      list.kind == Node::Kind::scalar ? list.scalar : "1, 2"));
    Factor factor;
    std::set<std::string> values;
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      Setting level = setting(key, list.items[i]);
      if (!values.insert(level.assignment).second)
        document_.error(level.where, fmt::format("{}[{}]", path, i), "the value is given twice");
      factor.levels.push_back({std::move(level)});
    }
    text_.factors.push_back(std::move(factor));
  }

  void read_points() {
    auto items = root_.items(
        {"points", "Points one by one, all with the same keys: [{cluster.replicas: 1, …}, …]."},
        true);
    if (items.empty() && root_.has("points") && !root_.is_null("points"))
      root_.error("points", "no point is given");
    const Node* list = document_.root().find("points");
    if (list == nullptr || items.empty()) return;
    Factor factor;
    for (std::size_t i = 0; i < items.size(); ++i) {
      items[i].allow_unknown();
      items[i].finish();
      factor.levels.push_back(read_point(items[i], list->items[i], list->items.front()));
    }
    text_.factors.push_back(std::move(factor));
  }

  /// The settings of a point, in the order of the first one.
  std::vector<Setting> read_point(const Reader& reader, const Node& point, const Node& first) {
    std::vector<Setting> level;
    for (const auto& [key, where, ignored] : first.entries) {
      if (&point == &first) claim_key(key, where, fmt::format("{}.{}", reader.path(), key));
      if (const Node* value = point.find(key))
        level.push_back(setting(key, *value));
      else
        reader.error("", fmt::format("'{}' is missing, which the first point sets", key));
    }
    for (const auto& [key, where, ignored] : point.entries)
      if (first.find(key) == nullptr)
        document_.error(where, fmt::format("{}.{}", reader.path(), key),
                        "the first point does not set this key");
    if (&point == &first && first.kind == Node::Kind::mapping && first.entries.empty())
      reader.error("", "no key is given");
    return level;
  }

  void read_latin_hypercube() {
    auto cube = root_.optional_section(
        {"latin_hypercube",
         "Points spread over ranges: each of `points` strata of every range holds one."});
    if (!cube) return;
    const std::size_t before = document_.mistakes();
    const auto count = static_cast<std::size_t>(
        cube->integer({"points", "How many."}, {1, static_cast<std::int64_t>(most_points)}));
    const auto seed = static_cast<std::uint64_t>(
        cube->integer({"seed", "Seed of where they lie; not that of the runs."},
                      {0, std::numeric_limits<std::int64_t>::max()}, 42));
    auto ranges =
        cube->named_sections({"ranges", "Keys of the scenario, each with the ends of its range."});
    if (ranges.empty() && cube->has("ranges")) cube->error("ranges", "no key is given");
    cube->finish();
    Factor factor;
    factor.levels.resize(count);
    for (auto& [key, reader] : ranges) {
      claim_key(key, reader.where(""), reader.path());
      const auto range = read_range(reader, key);
      if (!range || document_.mistakes() != before) continue;
      const auto values = spread(*range, key, seed, count);
      for (std::size_t i = 0; i < count; ++i)
        factor.levels[i].push_back(
            {key, values[i], fmt::format("{}={}", key, values[i]), reader.where("")});
    }
    if (document_.mistakes() == before) text_.factors.push_back(std::move(factor));
  }

  void read_seeds() {
    const auto seeds = root_.texts(
        {"seeds", "Each point runs once with each of these seeds.", "the scenario's own"}, true);
    const Node* list = document_.root().find("seeds");
    if (list == nullptr || list->kind != Node::Kind::sequence) return;
    if (list->items.empty()) root_.error("seeds", "no seed is given");
    for (std::size_t i = 0; i < list->items.size(); ++i) {
      Setting seed = setting("seed", list->items[i]);
      const auto same = [&](const Setting& other) { return other.value == seed.value; };
      if (std::ranges::any_of(text_.seeds, same))
        document_.error(seed.where, fmt::format("seeds[{}]", i), "the seed is given twice");
      text_.seeds.push_back(std::move(seed));
    }
  }

  void check_size() {
    if (text_.factors.empty() && text_.seeds.empty())
      return root_.error("", "nothing varies", "give grid, points, latin_hypercube or seeds");
    std::size_t count = std::max<std::size_t>(text_.seeds.size(), 1);
    for (const Factor& factor : text_.factors) {
      count *= factor.levels.size();
      if (count > most_points)
        return root_.error("", fmt::format("more than {} points", most_points));
    }
  }

  Document& document_;
  Reader root_;
  SweepText text_;
  std::set<std::string> keys_;
};

}  // namespace

SweepText read_sweep(Document& document) { return SweepReader(document).read(); }

}  // namespace tokenline::sweep
