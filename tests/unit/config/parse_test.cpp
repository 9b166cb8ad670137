#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "sim/config/node.hpp"
#include "tests/support/scratch.hpp"

using namespace tokenline::config;

namespace {

Node parse_text(std::string_view text) { return parse_yaml("t.yaml", text); }

void check_place(const Location& where, int line, int column) {
  CHECK(where.file == "t.yaml");
  CHECK(where.line == line);
  CHECK(where.column == column);
}

const Node& at(const Node& node, std::string_view key) {
  const Node* found = node.find(key);
  REQUIRE(found != nullptr);
  return *found;
}

}  // namespace

TEST_CASE("every key and value knows its line and column", "[config]") {
  const Node root = parse_text("a: 1\nb:\n  - x\n  - {c: 'y'}\n");
  check_place(root.where, 1, 1);
  check_place(root.entries[1].where, 2, 1);
  const Node& list = at(root, "b");
  check_place(list.where, 3, 3);
  check_place(list.items[0].where, 3, 5);
  check_place(list.items[1].entries[0].where, 4, 6);
  check_place(at(list.items[1], "c").where, 4, 9);
}

TEST_CASE("columns count characters, not bytes", "[config]") {
  const Node root = parse_text("{é: ü, ключ: 值, z: 1}\n");
  check_place(root.entries[1].where, 1, 8);
  check_place(root.entries[1].value.where, 1, 14);
  check_place(root.entries[2].value.where, 1, 20);
}

TEST_CASE("a byte order mark is skipped and shifts no column", "[config]") {
  const Node root = parse_text(
      "\xef\xbb\xbf"
      "a: 1\n");
  CHECK(root.entries[0].key == "a");
  check_place(root.entries[0].where, 1, 1);
  check_place(root.entries[0].value.where, 1, 4);
}

TEST_CASE("carriage returns before line feeds change nothing", "[config]") {
  const Node root = parse_text("a:\r\n  b: x\r\nc: y\r\n");
  CHECK(root == parse_text("a:\n  b: x\nc: y\n"));
  check_place(at(root, "c").where, 3, 4);
}

TEST_CASE("scalars keep their text, quoted or not", "[config]") {
  const Node root = parse_text("a: 010\nb: '010'\nc: .nan\nd: \"x\\ty\"\ne: |\n  z\n");
  CHECK(at(root, "a").scalar == "010");
  CHECK_FALSE(at(root, "a").quoted);
  CHECK(at(root, "b").scalar == "010");
  CHECK(at(root, "b").quoted);
  CHECK(at(root, "c").scalar == ".nan");
  CHECK(at(root, "d").scalar == "x\ty");
  CHECK(at(root, "e").scalar == "z\n");
  CHECK(at(root, "e").quoted);
}

TEST_CASE("no value, a tilde and null are null, and a quoted null is text", "[config]") {
  const Node root = parse_text("a:\nb: ~\nc: null\nd: 'null'\n");
  CHECK(at(root, "a").kind == Node::Kind::null);
  CHECK(at(root, "b").kind == Node::Kind::null);
  CHECK(at(root, "c").kind == Node::Kind::null);
  CHECK(at(root, "d").kind == Node::Kind::scalar);
  check_place(at(root, "a").where, 1, 1);
  check_place(at(root, "c").where, 3, 4);
}

TEST_CASE("an empty text is a null node at 1:1", "[config]") {
  for (const auto* text : {"", "\n", "# only a comment\n", "---\n"}) {
    CAPTURE(text);
    CHECK(parse_text(text).kind == Node::Kind::null);
  }
  check_place(parse_text("").where, 1, 1);
}

TEST_CASE("JSON is read as it stands, tabs and escapes included", "[config]") {
  const Node root = parse_text(
      "{\n\t\"a\":{\"b\":[1,2.5e-3,true,null]},\n\t\"c\" : \"x\\ny\\u00e9\\/\",\"d\":\"\"}\n");
  const Node& list = at(at(root, "a"), "b");
  REQUIRE(list.items.size() == 4);
  CHECK(list.items[1].scalar == "2.5e-3");
  CHECK(list.items[3].kind == Node::Kind::null);
  CHECK(at(root, "c").scalar == "x\ny\u00e9/");
  CHECK(at(root, "d").quoted);
  check_place(at(root, "c").where, 3, 8);
}

TEST_CASE("an alias is a copy that keeps the anchor's places", "[config]") {
  const Node root = parse_text("base: &b {x: 1}\nuse: *b\n");
  CHECK(at(root, "use") == at(root, "base"));
  check_place(at(at(root, "use"), "x").where, 1, 14);
}

TEST_CASE("a quoted << is an ordinary key", "[config]") {
  CHECK(at(parse_text("'<<': 1\n"), "<<").scalar == "1");
}

TEST_CASE("nesting is allowed to 64 levels", "[config]") {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  CHECK_NOTHROW(parse_text(nested(64)));
  CHECK_THROWS_AS(parse_text(nested(65)), ConfigError);
  CHECK_THROWS_AS(parse_text(std::string(100'000, '[')), ConfigError);
}

TEST_CASE("aliases do not nest deeper than plain text may", "[config]") {
  const std::string deep = std::string(40, '[') + std::string(40, ']');
  const auto around = [&](std::size_t depth) {
    return "- &a " + deep + "\n- " + std::string(depth, '[') + "*a" + std::string(depth, ']');
  };
  CHECK_NOTHROW(parse_text(around(23)));  // 1 + 23 + 40 levels
  CHECK_THROWS_AS(parse_text(around(24)), ConfigError);
}

TEST_CASE("aliases of aliases cannot fill the memory", "[config]") {
  std::string text = "a0: &a0 x\n";
  for (int i = 1; i <= 30; ++i) text += fmt::format("a{0}: &a{0} [*a{1}, *a{1}]\n", i, i - 1);
  CHECK_THROWS_WITH(parse_text(text), Catch::Contains("aliases expand to more than 100000 values"));
}

TEST_CASE("all mistakes of a text come out together, in its order", "[config]") {
  try {
    (void)parse_text("a: 1\n<<: {b: 2}\na: 3\nc: !x 4\n");
    FAIL("no error");
  } catch (const ConfigError& e) {
    REQUIRE(e.diagnostics().size() == 3);
    CHECK(e.diagnostics()[0].where.line == 2);
    CHECK(e.diagnostics()[1].where.line == 3);
    CHECK(e.diagnostics()[1].hint == "first given on line 1");
    CHECK(e.diagnostics()[2].where.line == 4);
  }
}

TEST_CASE("a file is read by its bytes, and a missing one is a mistake at 1:1", "[config]") {
  const tokenline::Scratch folder;
  const std::string path = folder.write("a.yaml", "a: 1\r\n");
  CHECK(read_file(path) == "a: 1\r\n");
  CHECK(load_yaml(path).entries[0].where.file == path);
  CHECK_THROWS_WITH(load_yaml(folder / "b.yaml"), folder / "b.yaml:1:1: error: no such file");
  CHECK_THROWS_WITH(load_yaml("/"), "/:1:1: error: is a directory, not a file");
}
