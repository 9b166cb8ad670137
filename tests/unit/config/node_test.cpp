#include "sim/config/node.hpp"

#include <catch2/catch.hpp>

using namespace tokenline::config;

namespace {

Node parse_node(std::string_view text) { return parse_yaml("t.yaml", text); }

Node with_override(std::string_view text, const std::string& assignment) {
  Node root = parse_node(text);
  apply_override(root, assignment);
  return root;
}

}  // namespace

TEST_CASE("an override replaces the value and keeps the key's position", "[config]") {
  const Node root = with_override("a: {x: 1, y: 2}\nb: 3\n", "a.x=7");
  CHECK(root == parse_node("a: {x: 7, y: 2}\nb: 3\n"));
  const Node& value = root.entries[0].value.entries[0].value;
  CHECK(value.where.file == "--set a.x=7");
  CHECK(value.where.line == 1);
  CHECK(value.where.column == 1);
  CHECK(root.entries[0].value.entries[0].where.file == "t.yaml");
}

TEST_CASE("an override creates the mappings on its way", "[config]") {
  CHECK(with_override("a: 1\n", "b.c.d=x") == parse_node("a: 1\nb: {c: {d: x}}\n"));
  CHECK(with_override("", "a=1") == parse_node("a: 1\n"));
  CHECK(with_override("a:\n", "a.b=1") == parse_node("a: {b: 1}\n"));
  CHECK(with_override("", "a.b=1").entries[0].where.file == "--set a.b=1");
}

TEST_CASE("the value of an override is YAML", "[config]") {
  CHECK(with_override("a: 1\n", "a=[1, {b: 2}]") == parse_node("a: [1, {b: 2}]\n"));
  CHECK(with_override("a: 1\n", "a='5'") == parse_node("a: '5'\n"));
  CHECK(with_override("a: 1\n", "a=") == parse_node("a:\n"));
  CHECK(with_override("a: 1\n", "a=x=y") == parse_node("a: x=y\n"));
  const Node root = with_override("a: 1\n", "a=[1, {b: 2}]");
  CHECK(root.entries[0].value.items[1].entries[0].where.column == 1);
}

TEST_CASE("an override that cannot be applied is a mistake at its text", "[config]") {
  for (const auto& [assignment, fragment] : std::vector<std::pair<std::string, std::string>>{
           {"a", "no '='"},
           {"=1", "empty key"},
           {"a..b=1", "empty key"},
           {"a.=1", "empty key"},
           {"s=[1", "not valid YAML"},
           {"s.x=1", "s: expected a mapping, got 'v'"},
           {"l.x=1", "l: expected a mapping, got a list"},
           {"m.s.x=1", "m.s: expected a mapping"}}) {
    CAPTURE(assignment);
    CHECK_THROWS_WITH(
        with_override("s: v\nl: [1]\nm: {s: 1}\n", assignment),
        Catch::StartsWith("--set " + assignment + ":1:1: error: ") && Catch::Contains(fragment));
  }
}

TEST_CASE("a preset fills in what the user did not give, at every level", "[config]") {
  Node upper = parse_node("a: {x: 1}\nb: [1]\nc: 5\n");
  merge_defaults(upper, parse_yaml("preset.yaml", "c: 6\na: {x: 2, y: 3}\nb: [2, 3]\nd: 7\n"));
  CHECK(upper == parse_node("a: {x: 1, y: 3}\nb: [1]\nc: 5\nd: 7\n"));
  CHECK(upper.find("d")->where.file == "preset.yaml");
  CHECK(upper.find("c")->where.file == "t.yaml");
}

TEST_CASE("a section given as nothing takes the preset's, a null value stays", "[config]") {
  Node upper = parse_node("a:\nb:\n");
  merge_defaults(upper, parse_node("a: {x: 2}\nb: 5\n"));
  CHECK(upper == parse_node("a: {x: 2}\nb:\n"));
  Node empty = parse_node("");
  merge_defaults(empty, parse_node("a: 1\n"));
  CHECK(empty == parse_node("a: 1\n"));
}

TEST_CASE("merging a preset twice changes nothing more", "[config]") {
  Node once = parse_node("a: {x: 1}\n");
  const Node preset = parse_node("a: {y: {z: 1}}\nb: 2\n");
  merge_defaults(once, preset);
  Node twice = once;
  merge_defaults(twice, preset);
  CHECK(once == twice);
}

TEST_CASE("a message shows a long or many-lined text shortened, on one line", "[config]") {
  Node node;
  CHECK(describe(node) == "nothing");
  node.kind = Node::Kind::scalar;
  node.scalar = "a\nb";
  CHECK(describe(node) == "'a b'");
  node.scalar = std::string(41, 'x');
  CHECK(describe(node) == "'" + std::string(40, 'x') + "…'");
  node.scalar = std::string(39, 'x') + "é";
  CHECK(describe(node) == "'" + std::string(39, 'x') + "…'");
}
