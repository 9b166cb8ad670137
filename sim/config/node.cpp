#include "sim/config/node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

namespace tokenline::config {
namespace {

void relocate(Node& node, const Location& where) {
  node.where = where;
  for (auto& item : node.items) relocate(item, where);
  for (auto& entry : node.entries) {
    entry.where = where;
    relocate(entry.value, where);
  }
}

Node parse_override_value(const std::string& text, const Location& where) {
  try {
    Node value = parse_yaml(where.file, text);
    relocate(value, where);
    return value;
  } catch (const ConfigError& e) {
    std::vector<Diagnostic> all(e.diagnostics().begin(), e.diagnostics().end());
    for (auto& d : all) d.where = where;
    throw ConfigError(std::move(all));
  }
}

/// The value under `key` of `node`, which becomes a mapping if it was nothing; created if missing.
Node& entry_of(Node& node, const std::string& key, const std::string& path, const Location& where) {
  if (node.kind == Node::Kind::null) {
    node.kind = Node::Kind::mapping;
    node.where = where;
  }
  if (node.kind != Node::Kind::mapping)
    throw ConfigError({where, path, fmt::format("expected a mapping, got {}", describe(node)),
                       fmt::format("no key '{}' can be set in it", key)});
  if (Node* found = node.find(key)) return *found;
  node.entries.push_back({key, where, {}});
  return node.entries.back().value;
}

}  // namespace

const Node* Node::find(std::string_view key) const {
  const auto found = std::ranges::find(entries, key, &Entry::key);
  return found == entries.end() ? nullptr : &found->value;
}

Node* Node::find(std::string_view key) {
  const auto found = std::ranges::find(entries, key, &Entry::key);
  return found == entries.end() ? nullptr : &found->value;
}

bool operator==(const Node& a, const Node& b) {
  return a.kind == b.kind && a.scalar == b.scalar && a.quoted == b.quoted && a.items == b.items &&
         a.entries == b.entries;
}

bool operator==(const Node::Entry& a, const Node::Entry& b) {
  return a.key == b.key && a.value == b.value;
}

std::string describe(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return "nothing";
    case Node::Kind::sequence:
      return "a list";
    case Node::Kind::mapping:
      return "a mapping";
    case Node::Kind::scalar:
      break;
  }
  constexpr std::size_t longest = 40;
  std::string text = node.scalar.substr(0, longest);
  // A character cut in half leaves no broken UTF-8 behind.
  if (node.scalar.size() > longest) {
    while (!text.empty() && (static_cast<unsigned char>(node.scalar[text.size()]) & 0xc0U) == 0x80U)
      text.pop_back();
    text += "…";
  }
  std::ranges::replace_if(text, [](char c) { return static_cast<unsigned char>(c) < 0x20U; }, ' ');
  return fmt::format("'{}'", text);
}

std::string read_file(const std::string& path) {
  const auto fail = [&](std::string message) {
    throw ConfigError(Diagnostic{{path, 1, 1}, {}, std::move(message), {}});
  };
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) fail("is a directory, not a file");
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    fail(std::filesystem::exists(path, ignored) ? "cannot read the file" : "no such file");
  std::ostringstream text;
  text << stream.rdbuf();
  if (stream.bad()) fail("reading the file failed");
  return text.str();
}

Node load_yaml(const std::string& path) { return parse_yaml(path, read_file(path)); }

void apply_override(Node& root, const std::string& assignment) {
  const Location where{fmt::format("--set {}", assignment), 1, 1};
  const auto equals = assignment.find('=');
  if (equals == std::string::npos)
    throw ConfigError({where, {}, "no '=' in the override", "write --set path.to.key=value"});
  const std::string path = assignment.substr(0, equals);
  Node value = parse_override_value(assignment.substr(equals + 1), where);
  Node* node = &root;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string key = path.substr(begin, end - begin);
    if (key.empty())
      throw ConfigError({where, {}, "an empty key in the path", "write --set path.to.key=value"});
    node = &entry_of(*node, key, path.substr(0, begin == 0 ? 0 : begin - 1), where);
    begin = end + 1;
  }
  *node = std::move(value);
}

void merge_defaults(Node& upper, const Node& lower) {
  if (lower.kind != Node::Kind::mapping) return;
  if (upper.kind == Node::Kind::null) upper.kind = Node::Kind::mapping;
  if (upper.kind != Node::Kind::mapping) return;
  for (const auto& entry : lower.entries) {
    if (Node* mine = upper.find(entry.key))
      merge_defaults(*mine, entry.value);
    else
      upper.entries.push_back(entry);
  }
}

}  // namespace tokenline::config
