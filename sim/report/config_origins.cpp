#include "sim/report/config_origins.hpp"

#include <fmt/format.h>

#include <cstddef>

namespace tokenline::report {
namespace {

using config::Location;
using config::Node;

constexpr std::string_view override_prefix = "--set ";
constexpr std::string_view preset_prefix = "<preset ";

bool same_place(const Location& a, const Location& b) {
  return a.file == b.file && a.line == b.line && a.column == b.column;
}

/// Whether "--set path=value" gives the value at `path` or a mapping around it; else it only made
/// room for a default.
bool gives(std::string_view assignment, std::string_view path) {
  assignment.remove_prefix(override_prefix.size());
  const std::string_view key = assignment.substr(0, assignment.find('='));
  return path.starts_with(key) &&
         (path.size() == key.size() || path[key.size()] == '.' || path[key.size()] == '[');
}

class Walk {
 public:
  /// `around`: the place of the mapping that the node is in, which is that of its defaults.
  void visit(const Node& node, const std::string& path, const Location& around) {
    if (node.kind == Node::Kind::mapping && !node.entries.empty()) {
      for (const Node::Entry& entry : node.entries)
        visit(entry.value, path.empty() ? entry.key : fmt::format("{}.{}", path, entry.key),
              node.where);
    } else if (node.kind == Node::Kind::sequence && !node.items.empty()) {
      for (std::size_t i = 0; i < node.items.size(); ++i)
        visit(node.items[i], fmt::format("{}[{}]", path, i), around);
    } else {
      add(node, path, around);
    }
  }

  std::vector<ConfigValue> values;

 private:
  static std::string text(const Node& node) {
    if (node.kind == Node::Kind::mapping) return "{}";
    if (node.kind == Node::Kind::sequence) return "[]";
    return node.kind == Node::Kind::null ? "null" : config::emit_scalar(node.scalar, node.quoted);
  }

  void add(const Node& node, const std::string& path, const Location& around) {
    ConfigValue value{.path = path, .value = text(node), .place = {}};
    const std::string& file = node.where.file;
    if (file.starts_with(override_prefix)) {
      if (gives(file, path)) {
        value.origin = Origin::overridden;
        value.place = file;
      }
    } else if (file.starts_with(preset_prefix)) {
      value.origin = Origin::preset;
      value.place = file.substr(1, file.size() - 2);
    } else if (!same_place(node.where, around)) {
      value.origin = Origin::scenario;
      value.place = fmt::format("{}:{}", file, node.where.line);
    }
    values.push_back(std::move(value));
  }
};

}  // namespace

std::vector<ConfigValue> config_values(const Scenario& scenario) {
  Walk walk;
  walk.visit(scenario.resolved, {}, scenario.resolved.where);
  return std::move(walk.values);
}

std::string_view name(Origin origin) {
  switch (origin) {
    case Origin::scenario:
      return "scenario";
    case Origin::overridden:
      return "override";
    case Origin::preset:
      return "preset";
    case Origin::standard:
      return "default";
  }
  return "";
}

}  // namespace tokenline::report
