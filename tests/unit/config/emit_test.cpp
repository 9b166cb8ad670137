#include <catch2/catch.hpp>

#include "sim/config/node.hpp"

using namespace tokenline::config;

namespace {

Node parse_emitted(std::string_view text) { return parse_yaml("t.yaml", text); }

}  // namespace

TEST_CASE("text is quoted only where it would read as something else", "[config]") {
  for (const auto* word :
       {"paged", "512 ms", "35/s", "a,b", "x:y", "-5", "-.5", "3.35 TB/s", "a#b"})
    CHECK(emit_scalar(word, false) == word);
  for (const auto* word : {"", "~", "null", "<<", "a: b", "a #b", " a", "a ", "a:", "- a", "-",
                           "---", "[", "a\nb", "#a", "@a"})
    CHECK(emit_scalar(word, false).front() == '"');
}

TEST_CASE("emitted YAML is block style with two-space indents", "[config]") {
  CHECK(emit_yaml(parse_emitted(
            "{a: {b: 1, c: []}, d: [x, {e: 1, f: {g: 2}}, [1, [2]]], h: {}, i: '5'}")) ==
        "a:\n"
        "  b: 1\n"
        "  c: []\n"
        "d:\n"
        "  - x\n"
        "  - e: 1\n"
        "    f:\n"
        "      g: 2\n"
        "  - - 1\n"
        "    - - 2\n"
        "h: {}\n"
        "i: \"5\"\n");
  CHECK(emit_yaml(parse_emitted("")) == "null\n");
  CHECK(emit_yaml(parse_emitted("x")) == "x\n");
  CHECK(emit_yaml(parse_emitted("[]")) == "[]\n");
}

TEST_CASE("a key too long for YAML's short form still reads back", "[config]") {
  Node root = parse_emitted("a: {b: 1}\n");
  root.entries[0].key = std::string(5000, 'k');
  CHECK(parse_emitted(emit_yaml(root)) == root);
}
