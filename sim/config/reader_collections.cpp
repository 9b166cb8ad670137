#include <fmt/format.h>

#include <utility>

#include "sim/config/reader.hpp"
#include "sim/config/reader_state.hpp"
#include "sim/config/scalars.hpp"

namespace tokenline::config {
namespace {

Node empty_node(Node::Kind kind, const Location& where) {
  Node node;
  node.kind = kind;
  node.where = where;
  return node;
}

}  // namespace

template <class T, class Parse>
std::vector<T> Reader::State::read_list(Key key, KeyInfo info, Parse parse) {
  const auto* list = ask_list(key, std::move(info));
  std::vector<T> values;
  Node resolved = empty_node(Node::Kind::sequence, where);
  if (list != nullptr) resolved.items = *list;
  resolve(key.name, std::move(resolved));
  if (list == nullptr) return values;
  for (std::size_t i = 0; i < list->size(); ++i) {
    Outcome<T> outcome = parse((*list)[i]);
    if (outcome.value)
      values.push_back(*std::move(outcome.value));
    else
      error((*list)[i].where, fmt::format("{}[{}]", key.name, i), std::move(outcome.message),
            std::move(outcome.hint));
  }
  return values;
}

Reader Reader::section(Key key, bool optional) {
  const Node* value = state_->ask(key, collection_info("mapping", optional));
  auto position = state_->resolve(key.name, empty_node(Node::Kind::mapping, where(key.name)));
  auto inner = state_->nested(value, key.name, key.name, {position});
  if (value == nullptr && !optional) inner->silent = true;
  return Reader(std::move(inner));
}

std::optional<Reader> Reader::optional_section(Key key) {
  const Node* value = state_->ask(key, key_info("mapping"));
  if (value == nullptr && state_->document->purpose_ == Document::Purpose::read) return {};
  auto position = state_->resolve(key.name, empty_node(Node::Kind::mapping, where(key.name)));
  return Reader(state_->nested(value, key.name, key.name, {position}));
}

std::vector<std::pair<std::string, Reader>> Reader::named_sections(Key key, bool optional) {
  const Node* value = state_->ask(key, collection_info("mapping of names to mappings", optional));
  auto position = state_->resolve(key.name, empty_node(Node::Kind::mapping, where(key.name)));
  const auto outer = state_->nested(value, key.name, key.name, {position});
  std::vector<std::pair<std::string, Reader>> sections;
  const auto add = [&](const std::string& name, const Node* node, const Location& at) {
    const auto i = outer->resolve(name, empty_node(Node::Kind::mapping, at));
    sections.emplace_back(name, Reader(outer->nested(node, name, "<name>", {i})));
  };
  if (state_->document->purpose_ == Document::Purpose::describe)
    add("<name>", nullptr, outer->where);
  else if (outer->node != nullptr)
    for (const auto& entry : outer->node->entries) add(entry.key, &entry.value, entry.value.where);
  return sections;
}

std::vector<Reader> Reader::items(Key key, bool optional) {
  const auto* list = state_->ask_list(key, collection_info("list of mappings", optional, "[]"));
  const bool describing = state_->document->purpose_ == Document::Purpose::describe;
  Node resolved = empty_node(Node::Kind::sequence, where(key.name));
  const std::size_t count = describing ? 1 : list == nullptr ? 0 : list->size();
  resolved.items.resize(count, empty_node(Node::Kind::mapping, resolved.where));
  const auto position = state_->resolve(key.name, std::move(resolved));
  std::vector<Reader> readers;
  for (std::size_t i = 0; i < count; ++i)
    readers.push_back(Reader(state_->nested(describing ? nullptr : &(*list)[i],
                                            fmt::format("{}[{}]", key.name, i),
                                            fmt::format("{}[]", key.name), {position, i})));
  return readers;
}

std::vector<double> Reader::reals(Key key, Range<double> range, bool optional) {
  return state_->read_list<double>(
      key, collection_info("list of numbers", optional, "[]", describe_range(range)),
      [&](const Node& node) { return read_real(node, range); });
}

std::vector<std::string> Reader::texts(Key key, bool optional) {
  return state_->read_list<std::string>(key, collection_info("list of texts", optional, "[]"),
                                        read_text);
}

std::vector<std::pair<std::string, std::string>> Reader::assignments(Key key, bool optional) {
  const Node* value = state_->ask(key, collection_info("mapping of names to values", optional));
  auto position = state_->resolve(key.name, empty_node(Node::Kind::mapping, where(key.name)));
  const auto inner = state_->nested(value, key.name, key.name, {position});
  std::vector<std::pair<std::string, std::string>> all;
  if (inner->node == nullptr) return all;
  for (const auto& entry : inner->node->entries) {
    inner->resolve(entry.key, entry.value);
    if (entry.value.kind == Node::Kind::scalar)
      all.emplace_back(entry.key, emit_scalar(entry.value.scalar, false));
    else if (entry.value.kind == Node::Kind::null)
      all.emplace_back(entry.key, "null");
    else
      inner->wrong_kind(entry.value, entry.key, "a single value");
  }
  return all;
}

}  // namespace tokenline::config
