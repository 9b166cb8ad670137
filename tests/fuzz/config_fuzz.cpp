#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/reader.hpp"

namespace {

using namespace tokenline::config;

/// Asks a mapping for one key of every kind.
void walk(Reader& reader, int depth) {
  static const std::vector<std::string> choices{"paged", "contiguous"};
  (void)reader.integer({"n", "an integer"}, {1, 64}, 7);
  (void)reader.real({"r", "a number"}, {0.0, std::numeric_limits<double>::infinity()});
  (void)reader.boolean({"b", "a switch"});
  (void)reader.text({"t", "a text"});
  (void)reader.word({"w", "a word"}, choices);
  (void)reader.seconds({"d", "a duration"}, {0.0, 1.0}, "1 ms");
  (void)reader.bytes({"m", "a size"}, {});
  (void)reader.bandwidth({"l", "a bandwidth"}, {});
  (void)reader.flop_rate({"f", "a FLOP rate"}, {});
  (void)reader.rate({"h", "a rate"}, {});
  (void)reader.reals({"x", "numbers"}, {});
  (void)reader.texts({"y", "texts"}, true);
  (void)reader.assignments({"z", "overrides"}, true);
  if (depth > 0) {
    auto section = reader.section({"s", "a section"}, true);
    walk(section, depth - 1);
    for (auto& [name, inner] : reader.named_sections({"c", "classes"}, true))
      walk(inner, depth - 1);
    for (auto& inner : reader.items({"i", "items"}, true)) walk(inner, depth - 1);
  }
  reader.finish();
}

/// Plain text that needs quotes comes back quoted.
void quote_all(Node& node) {
  node.quoted = node.kind == Node::Kind::scalar;
  for (auto& item : node.items) quote_all(item);
  for (auto& entry : node.entries) quote_all(entry.value);
}

/// What parses must survive being written and read again.
void check_round_trip(Node node) {
  const std::string text = emit_yaml(node);
  Node again = parse_yaml("again", text);
  if (emit_yaml(again) != text) std::abort();
  quote_all(node);
  quote_all(again);
  if (!(again == node)) std::abort();
}

}  // namespace

/// Bytes are a YAML file and, after a line "=", an override. Nothing but ConfigError may escape.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto split = input.find("\n=\n");
  try {
    Node root = parse_yaml("fuzz", input.substr(0, split));
    check_round_trip(root);
    if (split != std::string_view::npos) apply_override(root, std::string(input.substr(split + 3)));
    Document document(std::move(root));
    Reader reader(document);
    walk(reader, 2);
    check_round_trip(document.resolved());
    document.throw_if_errors();
  } catch (const ConfigError&) {
  }
  return 0;
}
