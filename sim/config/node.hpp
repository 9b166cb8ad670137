#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/config/diagnostic.hpp"

namespace tokenline::config {

/// A parsed YAML (or JSON) value that knows where it stands. Mappings keep the order of the text.
struct Node {
  enum class Kind { null, scalar, sequence, mapping };
  struct Entry;

  Kind kind = Kind::null;
  Location where;
  std::string scalar;          ///< The text of a scalar, without quotes.
  bool quoted = false;         ///< A quoted scalar is text, never a number or null.
  std::vector<Node> items;     ///< Of a sequence.
  std::vector<Entry> entries;  ///< Of a mapping; keys are unique.

  /// The value under `key`, or null.
  [[nodiscard]] const Node* find(std::string_view key) const;
  [[nodiscard]] Node* find(std::string_view key);

  /// The same kind, text, quoting and contents in the same order; places do not count.
  friend bool operator==(const Node& a, const Node& b);
};

/// One `key: value` of a mapping; `where` is the key's place.
struct Node::Entry {
  std::string key;
  Location where;
  Node value;

  friend bool operator==(const Entry& a, const Entry& b);
};

/// "a mapping", "a list", "nothing" or "'text'" (shortened, on one line): what a message says a
/// value is.
[[nodiscard]] std::string describe(const Node& node);

/// Parses one YAML (or JSON) document. Throws ConfigError with every mistake found: syntax, invalid
/// UTF-8 and control characters (with their line and column), duplicate keys, keys that are not
/// text, merge keys (`<<`), tags, more than one document, nesting deeper than 64 and expansion of
/// aliases beyond 100,000 nodes. An alias gives a copy of the anchored node, which keeps the
/// anchor's places. Columns count characters, not bytes. An empty text is a null node; an empty
/// value stands at its key.
[[nodiscard]] Node parse_yaml(std::string file, std::string_view text);

/// Reads and parses a file; a missing or unreadable one is a ConfigError at 1:1.
[[nodiscard]] Node load_yaml(const std::string& path);

/// The bytes of a file; a missing or unreadable one is a ConfigError at 1:1.
[[nodiscard]] std::string read_file(const std::string& path);

/// Applies one `--set a.b.c=value` to `root`: creates missing mappings on the way, replaces the
/// value, which is parsed as YAML; a key that was there keeps its position. The location of all
/// that is new is that text, as file "--set a.b.c=value", 1:1.
/// Throws ConfigError when the text has no '=', an empty path element, a value that does not
/// parse, or a path that runs through a scalar or a sequence.
void apply_override(Node& root, const std::string& assignment);

/// Gives `upper` every entry of `lower` that it lacks, recursively through mappings: `lower` is a
/// preset, `upper` the user's text. Where `lower` has a mapping and `upper` nothing (`engine:`),
/// `upper` gets the mapping; any other null of the user's stays. Entries keep their own locations.
void merge_defaults(Node& upper, const Node& lower);

/// Block-style YAML of a tree, two-space indent, keys in order; what was quoted stays quoted, other
/// text is quoted where it must be (numbers and words never are). parse_yaml() of it gives the same
/// tree, but for the `quoted` of such text.
[[nodiscard]] std::string emit_yaml(const Node& node);

/// The text of a scalar as emit_yaml() writes it, in double quotes where plain text would be read
/// as something else.
[[nodiscard]] std::string emit_scalar(std::string_view text, bool quoted);

}  // namespace tokenline::config
