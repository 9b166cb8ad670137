#include <fmt/format.h>

#include <memory>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/config/reader.hpp"
#include "sim/config/reader_state.hpp"

namespace tokenline::config {

Document::Document(Node root, Purpose purpose) : root_(std::move(root)), purpose_(purpose) {
  resolved_.kind = Node::Kind::mapping;
  resolved_.where = root_.where;
}

void Document::error(Location where, std::string path, std::string message, std::string hint) {
  if (purpose_ == Purpose::describe) return;
  errors_.push_back({std::move(where), std::move(path), std::move(message), std::move(hint)});
}

void Document::throw_if_errors() {
  if (!errors_.empty()) throw ConfigError(errors_);
}

KeyInfo key_info(std::string_view type, std::string range, std::string unit) {
  KeyInfo info;
  info.type = type;
  info.unit = std::move(unit);
  info.range = std::move(range);
  return info;
}

KeyInfo collection_info(std::string_view type, bool optional, std::string_view empty,
                        std::string range) {
  KeyInfo info = key_info(type, std::move(range));
  info.required = !optional;
  if (optional) info.standard = empty;
  return info;
}

std::string Reader::State::join(const std::string& path, std::string_view key) {
  if (path.empty()) return std::string(key);
  if (key.empty() || key.starts_with('[')) return fmt::format("{}{}", path, key);
  return fmt::format("{}.{}", path, key);
}

const Node* Reader::State::ask(Key key, KeyInfo info) {
  TOKENLINE_CHECK(
      asked.emplace(key.name).second || document->purpose_ == Document::Purpose::describe,
      "key '{}' is asked for twice", path_of(key.name));
  const bool required = info.required;
  info.path = join(pattern, key.name);
  info.doc = key.doc;
  info.when = when;
  if (!key.standard.empty()) info.standard = key.standard;
  if (document->described_.emplace(info.path, info.type, info.when).second)
    document->keys_.push_back(std::move(info));
  const Node* value = find(key.name);
  if (value == nullptr && required && !silent) error(where, key.name, "required key is missing");
  return value;
}

void Reader::State::error(const Location& at, std::string_view key, std::string message,
                          std::string hint) {
  document->error(at, path_of(key), std::move(message), std::move(hint));
}

void Reader::State::wrong_kind(const Node& value, std::string_view key, std::string_view wanted,
                               std::string hint) {
  error(value.where, key, fmt::format("expected {}, got {}", wanted, describe(value)),
        std::move(hint));
}

std::size_t Reader::State::resolve(std::string_view key, Node value) {
  Node* mapping = &document->resolved_;
  for (const std::size_t i : slot)
    mapping =
        mapping->kind == Node::Kind::mapping ? &mapping->entries[i].value : &mapping->items[i];
  mapping->entries.push_back({std::string(key), value.where, std::move(value)});
  return mapping->entries.size() - 1;
}

std::shared_ptr<Reader::State> Reader::State::nested(const Node* value, std::string_view key,
                                                     std::string_view pattern_key,
                                                     const std::vector<std::size_t>& position) {
  auto inner = std::make_shared<State>();
  inner->document = document;
  inner->where = value == nullptr ? where : value->where;
  inner->path = join(path, key);
  inner->pattern = join(pattern, pattern_key);
  inner->slot = slot;
  inner->slot.insert(inner->slot.end(), position.begin(), position.end());
  inner->silent = silent;
  if (value == nullptr) return inner;
  if (value->kind == Node::Kind::mapping) {
    inner->node = value;
  } else if (value->kind != Node::Kind::null) {
    wrong_kind(*value, key, "a mapping");
    inner->silent = true;
  }
  return inner;
}

const std::vector<Node>* Reader::State::ask_list(Key key, KeyInfo info) {
  const Node* value = ask(key, std::move(info));
  if (value == nullptr) return nullptr;
  if (value->kind == Node::Kind::sequence) return &value->items;
  if (value->kind != Node::Kind::null)
    wrong_kind(*value, key.name, "a list",
               value->kind == Node::Kind::scalar
                   ? fmt::format("write [{}]", emit_scalar(value->scalar, value->quoted))
                   : "");
  return nullptr;
}

}  // namespace tokenline::config
