#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "sim/config/node.hpp"

namespace tokenline::config {
namespace {

/// Longest key yaml-cpp recognises before a ':' is 1024 characters; longer ones need '? '.
constexpr std::size_t longest_simple_key = 1000;

bool reads_as_null(std::string_view text) {
  constexpr std::array<std::string_view, 5> nulls{"", "~", "null", "Null", "NULL"};
  return std::ranges::find(nulls, text) != nulls.end();
}

/// Control characters, the byte order mark and U+0085, U+2028 and U+2029, which some readers of
/// YAML take for line breaks. 0xc2 begins U+0080 … U+00BF: more than needed, but quotes do no harm.
bool has_control(std::string_view text) {
  const auto is_c0 = [](char c) {
    return static_cast<unsigned char>(c) < 0x20U || static_cast<unsigned char>(c) == 0x7fU;
  };
  return std::ranges::any_of(text, is_c0) || text.find("\xe2\x80\xa8") != std::string_view::npos ||
         text.find("\xe2\x80\xa9") != std::string_view::npos ||
         text.find('\xc2') != std::string_view::npos ||
         text.find("\xef\xbb\xbf") != std::string_view::npos;
}

/// Whether plain text reads back as the same scalar, conservatively.
bool is_plain(std::string_view text) {
  constexpr std::string_view indicators = "-?:,[]{}#&*!|>'\"%@`";
  if (reads_as_null(text) || text == "<<" || has_control(text)) return false;
  if (text.front() == ' ' || text.back() == ' ' || text.back() == ':') return false;
  const bool negative = text.size() > 1 && text[0] == '-' &&
                        std::string_view("0123456789.").find(text[1]) != std::string_view::npos;
  if (indicators.find(text.front()) != std::string_view::npos && !negative) return false;
  if (text.starts_with("...")) return false;
  return text.find(": ") == std::string_view::npos && text.find(" #") == std::string_view::npos;
}

std::string in_double_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20U || byte == 0x7fU) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

class Emitter {
 public:
  /// The value of a mapping entry or list item, after `key:` or `-`, or the root.
  void value(const Node& node, std::size_t indent, bool in_list) {
    if (node.kind == Node::Kind::mapping && !node.entries.empty()) {
      mapping(node, indent, in_list);
    } else if (node.kind == Node::Kind::sequence && !node.items.empty()) {
      sequence(node, indent, in_list);
    } else {
      if (!out_.empty()) out_ += ' ';
      out_ += leaf(node);
      out_ += '\n';
    }
  }

  std::string take() { return std::move(out_); }

 private:
  static std::string leaf(const Node& node) {
    switch (node.kind) {
      case Node::Kind::null:
        return "null";
      case Node::Kind::sequence:
        return "[]";
      case Node::Kind::mapping:
        return "{}";
      case Node::Kind::scalar:
        break;
    }
    return emit_scalar(node.scalar, node.quoted);
  }

  /// Begins one line of a block collection. The first one of a collection inside a list shares the
  /// line of the '-'; after `key:` it begins a new line.
  void begin_line(std::size_t indent, bool first, bool in_list) {
    if (first && in_list) {
      out_ += ' ';
      return;
    }
    if (first && !out_.empty()) out_ += '\n';
    out_.append(indent, ' ');
  }

  void mapping(const Node& node, std::size_t indent, bool in_list) {
    bool first = true;
    for (const auto& entry : node.entries) {
      begin_line(indent, first, in_list);
      first = false;
      const std::string key = emit_scalar(entry.key, false);
      if (key.size() > longest_simple_key) {
        out_ += fmt::format("? {}\n", key);
        out_.append(indent, ' ');
        out_ += ':';
      } else {
        out_ += key + ':';
      }
      value(entry.value, indent + 2, false);
    }
  }

  void sequence(const Node& node, std::size_t indent, bool in_list) {
    bool first = true;
    for (const auto& item : node.items) {
      begin_line(indent, first, in_list);
      first = false;
      out_ += '-';
      value(item, indent + 2, true);
    }
  }

  std::string out_;
};

}  // namespace

std::string emit_scalar(std::string_view text, bool quoted) {
  return quoted || !is_plain(text) ? in_double_quotes(text) : std::string(text);
}

std::string emit_yaml(const Node& node) {
  Emitter emitter;
  emitter.value(node, 0, false);
  return emitter.take();
}

}  // namespace tokenline::config
