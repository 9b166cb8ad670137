#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/reader.hpp"
#include "sim/config/units.hpp"

namespace tokenline::config {

/// A KeyInfo without path, condition and sentence, which Reader::State::ask() adds.
[[nodiscard]] KeyInfo key_info(std::string_view type, std::string range = {},
                               std::string unit = {});

/// The KeyInfo of a collection, which is empty where it is optional and not given.
[[nodiscard]] KeyInfo collection_info(std::string_view type, bool optional,
                                      std::string_view empty = "{}", std::string range = {});

/// One mapping being read.
struct Reader::State {
  Document* document = nullptr;
  const Node* node = nullptr;  ///< Null when nothing (or no mapping) was given.
  Location where;
  std::string path;
  std::string pattern;            ///< As KeyInfo::path: names and indices left open.
  std::vector<std::size_t> slot;  ///< Position of this mapping in Document::resolved(), by level.
  std::set<std::string, std::less<>> asked;
  std::set<std::string, std::less<>> looked_for;  ///< By has(): known, though perhaps not asked.
  std::string when;                               ///< KeyInfo::when of the keys asked for now.
  bool silent = false;   ///< Its absence is reported already: no "required key is missing".
  bool lenient = false;  ///< Unknown keys are accepted.
  bool finished = false;

  [[nodiscard]] const Node* find(std::string_view key) const {
    return node == nullptr ? nullptr : node->find(key);
  }
  [[nodiscard]] std::string path_of(std::string_view key) const { return join(path, key); }
  [[nodiscard]] static std::string join(const std::string& path, std::string_view key);

  /// The value given, after marking the key as asked for and describing it. Null when it was not
  /// given; that is reported if `info.required`.
  const Node* ask(Key key, KeyInfo info);
  void error(const Location& at, std::string_view key, std::string message, std::string hint = {});
  /// Reports a value of another kind than `wanted` ("a list").
  void wrong_kind(const Node& value, std::string_view key, std::string_view wanted,
                  std::string hint = {});

  /// Appends the value in force to the resolved tree; returns its position in this mapping.
  std::size_t resolve(std::string_view key, Node value);
  /// The State of a mapping inside this one, to be read from `value` (null: not given), which
  /// stands in the resolved tree at `position` below this one. A value that is no mapping is
  /// reported, and reads as an empty one.
  [[nodiscard]] std::shared_ptr<State> nested(const Node* value, std::string_view key,
                                              std::string_view pattern_key,
                                              const std::vector<std::size_t>& position);

  /// The items of a list, or null where there is none to read (not given, or a mistake).
  const std::vector<Node>* ask_list(Key key, KeyInfo info);

  /// Reads one scalar through `parse(node)`, an Outcome<T>; `least` stands in for a required value
  /// that is missing or wrong. The fallback passes through the same `parse`.
  template <class T, class Parse>
  T read(Key key, KeyInfo info, const std::optional<std::string>& fallback, T least, Parse parse);
  /// The same without fallback and not required.
  template <class T, class Parse>
  std::optional<T> read_optional(Key key, KeyInfo info, Parse parse);
  template <class T, class Parse>
  std::optional<T> take(const Node& given, Key key, Parse parse);
  double read_quantity(Key key, const Dimension& dimension, Range<double> range,
                       std::optional<std::string_view> fallback);
  /// Reads a list of scalars; wrong items are reported and left out.
  template <class T, class Parse>
  std::vector<T> read_list(Key key, KeyInfo info, Parse parse);
};

}  // namespace tokenline::config
